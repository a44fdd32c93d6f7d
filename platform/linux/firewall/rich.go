// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/firewall"
)

// A rich rule of firewalld (firewalld.richlanguage(5)) stands before what its
// zone lets in, unless its priority is above 0.
type rich struct {
	text     string
	priority int
	refuses  bool   // reject or drop
	forwards bool   // sends a port elsewhere
	element  string // "port", "service", "protocol" and so on; empty for every packet
	value    string // its name or number
	ports    spans  // nil when they are not known
	source   string // of whom it is; empty for everyone
	not      bool   // of everyone but those
}

// parseRich reads one rule.
func parseRich(text string) rich {
	r := rich{text: text}
	part := ""
	for _, w := range words(text) {
		key, value, attribute := strings.Cut(w, "=")
		switch {
		case !attribute && (w == "reject" || w == "drop"):
			r.refuses, part = true, w
		case !attribute && strings.EqualFold(w, "not"):
			r.not = r.not || part == "source"
		case !attribute:
			part = w
			r.begin(w)
		default:
			r.set(part, key, value)
		}
	}
	return r
}

// begin notes a part that says what the rule is about.
func (r *rich) begin(part string) {
	switch part {
	case "forward-port", "port", "service", "protocol", "icmp-block", "icmp-type", "masquerade", "source-port", "tcp-mss-clamp":
		r.element, r.forwards = part, part == "forward-port"
	}
}

func (r *rich) set(part, key, value string) {
	switch {
	case part == "rule" && key == "priority":
		r.priority, _ = strconv.Atoi(value) //nolint:errcheck // firewalld takes no other than a number; 0 is the strictest
	case part == "source":
		r.source = value
	case part != r.element:
	case key == "port":
		r.value = value
		r.ports = parseSpans(value)
	case key == "protocol":
		r.ports = parseSpans(r.value + "/" + value)
	case key == "name" || key == "value":
		r.value = value
	}
}

// shuts says whether the rule keeps new connections from a port.
func (r rich) denies(p firewall.Port, peers []netip.Addr) bool {
	if !r.forwards && (!r.refuses || r.priority > 0) {
		return false
	}
	return r.covers(p) && r.concerns(peers)
}

// covers says whether the rule is about a port. One whose ports are not known
// could be.
func (r rich) covers(p firewall.Port) bool {
	switch r.element {
	case "icmp-block", "icmp-type", "masquerade", "tcp-mss-clamp":
		return false
	case "protocol":
		return r.value == p.Protocol || r.value == "6" && p.Protocol == "tcp" || r.value == "17" && p.Protocol == "udp"
	case "port", "service", "forward-port":
		return r.ports == nil || r.ports.has(p)
	default:
		return true
	}
}

// concerns says whether a rule is not just about some addresses that no peer
// has. Lists of addresses and those of network cards could hold any.
func (r rich) concerns(peers []netip.Addr) bool {
	from, ok := parsePrefix(r.source)
	switch {
	case r.source == "" || ok && from.Bits() == 0:
		return true
	case !ok:
		return r.not || len(peers) > 0
	case r.not:
		return len(peers) == 0 || slices.ContainsFunc(peers, func(a netip.Addr) bool { return !from.Contains(a) })
	default:
		return within(from, peers)
	}
}

// shuts returns what of a zone or a policy keeps new connections from a port,
// and the option that removes it; empty when nothing does.
func (z zone) denies(p firewall.Port, peers []netip.Addr) (text, option string) {
	for _, f := range z.forwards {
		if parseForward(f).has(p) {
			return "it sends the port elsewhere: " + f, "--remove-forward-port='" + f + "'"
		}
	}
	for _, r := range z.rich {
		if r.denies(p, peers) && (r.forwards || !z.policy || z.early) {
			return r.text, "--remove-rich-rule='" + r.text + "'"
		}
	}
	if z.policy && z.early && (z.target == "DROP" || z.target == "REJECT") && !z.ports.has(p) {
		return "its target is " + z.target, "--set-target=CONTINUE"
	}
	return "", ""
}

// parseForward takes the ports out of "port=22:proto=tcp:toport=2200:toaddr=".
func parseForward(text string) spans {
	port, protocol := "", ""
	for part := range strings.SplitSeq(text, ":") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "port":
			port = value
		case "proto":
			protocol = value
		}
	}
	return parseSpans(port + "/" + protocol)
}
