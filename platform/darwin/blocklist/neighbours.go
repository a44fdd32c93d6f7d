// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"slices"
	"strings"
)

// neighbourTypes are those of [blocklist.ListenersFrom] to [blocklist.NeighboursTo], in the words
// that pfctl prints and takes (icmp6_type in pfctl_parser.c).
var neighbourTypes = []string{"groupqry", "grouprep", "groupterm", "routersol", "routeradv", "neighbrsol", "neighbradv", "redir"}

// neighbourSides are the packets that come from a blocked address, and those that go to one. pf sees what is
// forwarded twice, as it comes in and as it leaves: one of the two is none of these, and is dropped.
var neighbourSides = map[string]string{"in": "from <sentinel> to any", "out": "from any to <sentinel>"}

// neighbourRules let these messages pass to and from blocked addresses, before the rules that drop.
// They keep no state, which would let other messages through. The protocol is ICMPv6 by its
// number: its name depends on /etc/protocols. pf has no word for the hop limit.
func neighbourRules() string {
	var text strings.Builder
	for _, direction := range []string{"in", "out"} {
		for _, kind := range neighbourTypes {
			text.WriteString("pass " + direction + " quick inet6 proto 58 " + neighbourSides[direction] + " icmp6-type " + kind + " no state\n")
		}
	}
	return text.String()
}

// passesNeighbours recognises one of these rules and says for which direction and type it is; it is
// empty for any other.
func passesNeighbours(words []string) string {
	from, kind := slices.Index(words, "from"), slices.Index(words, "icmp6-type")
	if from < 2 || kind != from+4 || len(words) < kind+2 || words[0] != "pass" {
		return ""
	}
	condition := slices.DeleteFunc(slices.Clone(words[2:from]), func(w string) bool { return w == "quick" || w == "inet6" })
	if len(condition) != 2 || condition[0] != "proto" || !slices.Contains(neighbourTypes, words[kind+1]) {
		return ""
	}
	source, destination := words[from+1], words[from+3]
	if words[1] == "in" && ownTable(source) && destination == "any" || words[1] == "out" && source == "any" && ownTable(destination) {
		return words[1] + " " + words[kind+1]
	}
	return ""
}
