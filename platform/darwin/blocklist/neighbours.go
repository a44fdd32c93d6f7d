// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"slices"
	"strings"
)

// neighbourTypes are those of [blocklist.NeighboursFrom] to [blocklist.NeighboursTo], in the words
// that pfctl prints and takes (icmp6_type in pfctl_parser.c).
var neighbourTypes = []string{"groupqry", "grouprep", "groupterm", "routersol", "routeradv", "neighbrsol", "neighbradv", "redir"}

// neighbourRules let these messages pass to and from blocked addresses, before the rules that drop.
// They keep no state, which would let other messages through. The protocol is ICMPv6 by its
// number: its name depends on /etc/protocols.
func neighbourRules() string {
	var text strings.Builder
	for _, sides := range []string{"from <sentinel> to any", "from any to <sentinel>"} {
		for _, kind := range neighbourTypes {
			text.WriteString("pass quick inet6 proto 58 " + sides + " icmp6-type " + kind + " no state\n")
		}
	}
	return text.String()
}

// passesNeighbours recognises one of these rules and says for which side and type it is; it is
// empty for any other.
func passesNeighbours(words []string) string {
	from, kind := slices.Index(words, "from"), slices.Index(words, "icmp6-type")
	if from < 1 || kind != from+4 || len(words) < kind+2 || words[0] != "pass" {
		return ""
	}
	condition := slices.DeleteFunc(slices.Clone(words[1:from]), func(w string) bool { return w == "quick" || w == "inet6" })
	if len(condition) != 2 || condition[0] != "proto" || !slices.Contains(neighbourTypes, words[kind+1]) {
		return ""
	}
	switch source, destination := words[from+1], words[from+3]; {
	case ownTable(source) && destination == "any":
		return "from " + words[kind+1]
	case source == "any" && ownTable(destination):
		return "to " + words[kind+1]
	default:
		return ""
	}
}
