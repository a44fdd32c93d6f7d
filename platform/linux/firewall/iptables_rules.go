// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/firewall"
)

// A condition is what one option of a rule says of a packet.
type condition func(firewall.Packet) firewall.Match

func always(m firewall.Match) condition {
	return func(firewall.Packet) firewall.Match { return m }
}

// parseOptions reads the options of a rule as iptables-save(8) prints them, those behind "-A CHAIN".
// With an option that it does not know, what the rule matches is [firewall.Unsure]. chains are those
// of the table; any other target is an extension.
func parseOptions(options []string, v6 bool, chains []string) firewall.Rule {
	var all []condition
	r := firewall.Rule{}
	for targeted := false; len(options) > 0; {
		not := options[0] == "!"
		if not {
			options = options[1:]
		}
		name, values := option(options)
		options = options[min(len(options), 1+len(values)):]
		switch {
		case targeted && name == "--to-destination":
			host, _, _ := strings.Cut(first(values), "-")
			r.Target = destinationOf(host, v6)
		case targeted:
		case name == "-j" || name == "-g":
			setTarget(&r, name, first(values), chains)
			targeted = true
		default:
			c := parseCondition(name, values)
			all = append(all, func(p firewall.Packet) firewall.Match { return invert(c(p), not) })
		}
	}
	r.Matches = func(p firewall.Packet) firewall.Match {
		m := firewall.Always
		for _, c := range all {
			m = m.And(c(p))
		}
		return m
	}
	return r
}

// thisHost is the target of a rule that leaves the address to the interface, or as it is.
var thisHost = netip.AddrPortFrom(netip.IPv6Unspecified(), 0)

// option returns the first option with its values.
func option(words []string) (name string, values []string) {
	if len(words) == 0 {
		return "", nil
	}
	n := 1
	for n < len(words) && words[n] != "!" && (!strings.HasPrefix(words[n], "-") || words[0] == "--comment") {
		n++
		if words[0] == "--comment" {
			break
		}
	}
	return words[0], words[1:n]
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func setTarget(r *firewall.Rule, option, name string, chains []string) {
	switch {
	case slices.Contains(chains, name) && option == "-g":
		r.Action, r.Chain = firewall.Goto, name
	case slices.Contains(chains, name):
		r.Action, r.Chain = firewall.Jump, name
	default:
		r.Action, r.Marks, r.Untracks, r.Proxies = xtAction(name), marks(name), untracks(name), proxies(name)
		if name == "REDIRECT" {
			r.Target = thisHost
		}
	}
}

// destinationOf reads "192.0.2.7:80", "[2001:db8::7]:80", or either without a port.
func destinationOf(text string, v6 bool) netip.AddrPort {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Is6() != v6 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, 0)
}

// parseCondition reads the options of iptables(8) and iptables-extensions(8) that most rules have.
func parseCondition(name string, values []string) condition {
	value := first(values)
	switch name {
	case "-m", "--comment", "--set", "--name", "--rsource", "--mask", "--connlimit-mask", "--connlimit-saddr",
		"--hashlimit-burst", "--hashlimit-mode", "--hashlimit-name", "--icmp-type", "--icmpv6-type":
		return always(firewall.Always) // of a protocol that "-p" names, or that say nothing
	case "-p":
		return func(p firewall.Packet) firewall.Match { return firewall.Is(value == "all" || value == p.Protocol) }
	case "-s":
		return source(value)
	case "-d":
		return destination(value)
	case "-i":
		return inInterface(value)
	case "--dport", "--dports":
		return func(p firewall.Packet) firewall.Match { return parsePorts(value, p) }
	case "--sport", "--sports":
		return func(firewall.Packet) firewall.Match { return usualPorts(value) }
	case "--ctstate", "--state":
		return states(value)
	case "--dst-type":
		return kinds(value)
	case "--mark":
		return ofMark(value)
	case "--pkt-type":
		return func(p firewall.Packet) firewall.Match {
			if !p.To.IsValid() {
				return firewall.Unsure
			}
			return firewall.Is(value == "unicast")
		}
	case "--src-type":
		return always(usually(slices.Contains(strings.Split(value, ","), "UNICAST")))
	case "--tcp-flags":
		return tcpFlags(values)
	case "--limit", "--limit-burst", "--connlimit-upto", "--hashlimit-upto":
		return always(firewall.PerhapsAllBut)
	case "--rcheck", "--update", "--seconds", "--hitcount", "--rttl", "--connlimit-above", "--mac-source",
		"--hashlimit-above", "--rt-type", "-f":
		return always(firewall.PerhapsSome)
	case "--match-set":
		if len(values) == 2 && strings.HasPrefix(values[1], "src") {
			return always(firewall.PerhapsSome)
		}
	}
	return always(firewall.Unsure)
}

// ofMark reads the mark of a packet or a connection, which is 0 before a rule sets it: "0x1/0xff".
func ofMark(value string) condition {
	text, _, _ := strings.Cut(value, "/")
	n, err := strconv.ParseUint(text, 0, 32)
	return func(p firewall.Packet) firewall.Match {
		if err != nil || p.Marked {
			return firewall.Unsure
		}
		return firewall.Is(n == 0)
	}
}

func source(value string) condition {
	n, err := netip.ParsePrefix(value)
	switch {
	case err != nil:
		return always(firewall.Unsure)
	case n.Bits() == 0:
		return always(firewall.Always)
	default:
		return always(firewall.Particular)
	}
}

func destination(value string) condition {
	n, err := netip.ParsePrefix(value)
	return func(p firewall.Packet) firewall.Match {
		if err != nil || !p.To.IsValid() {
			return firewall.Unsure
		}
		return firewall.Is(n.Contains(p.To))
	}
}

// inInterface takes "eth+" for all names that begin so.
func inInterface(value string) condition {
	prefix, open := strings.CutSuffix(value, "+")
	return func(p firewall.Packet) firewall.Match {
		switch {
		case p.Interface == "" && (value == "lo" || prefix == ""):
			return firewall.Is(value != "lo")
		case p.Interface == "":
			return firewall.Unsure
		case open:
			return firewall.Is(strings.HasPrefix(p.Interface, prefix))
		default:
			return firewall.Is(p.Interface == value)
		}
	}
}

// parsePorts is whether a port is in "22", "80,443" or "6000:6007".
func parsePorts(list string, p firewall.Packet) firewall.Match {
	m := firewall.Never
	for part := range strings.SplitSeq(list, ",") {
		from, to, ok := portRange(part)
		if !ok {
			return firewall.Unsure
		}
		m = m.Or(portWithin(p, from, to))
	}
	return m
}

func usualPorts(list string) firewall.Match {
	m := firewall.Never
	for part := range strings.SplitSeq(list, ",") {
		from, to, ok := portRange(part)
		if !ok {
			return firewall.Unsure
		}
		m = m.Or(sourcePorts(from, to))
	}
	return m
}

// portRange reads "6000:6007", of which either end may be missing.
func portRange(text string) (from, to uint16, ok bool) {
	low, high, isRange := strings.Cut(text, ":")
	if !isRange {
		high = low
	}
	if isRange && low == "" {
		low = "0"
	}
	if isRange && high == "" {
		high = "65535"
	}
	a, err := strconv.ParseUint(low, 10, 16)
	b, err2 := strconv.ParseUint(high, 10, 16)
	return uint16(a), uint16(b), err == nil && err2 == nil
}

func states(list string) condition {
	names := map[string]int{"NEW": xtNew, "ESTABLISHED": 2, "RELATED": 4, "INVALID": 1, "SNAT": 1 << 6, "DNAT": 1 << 7, "UNTRACKED": 1 << 8}
	return masked(list, names, stateMatch)
}

func kinds(list string) condition {
	names := map[string]int{
		"UNICAST": 1 << typeUnicast, "LOCAL": xtLocal, "BROADCAST": 1 << 3, "ANYCAST": 1 << 4, "MULTICAST": 1 << 5, "BLACKHOLE": 1 << 6,
		"UNREACHABLE": 1 << 7, "PROHIBIT": 1 << 8, "UNSPEC": 1,
	}
	return masked(list, names, localMatch)
}

func masked(list string, names map[string]int, match func(firewall.Packet, int) firewall.Match) condition {
	mask := 0
	for name := range strings.SplitSeq(list, ",") {
		bit, ok := names[name]
		if !ok {
			return always(firewall.Unsure)
		}
		mask |= bit
	}
	return func(p firewall.Packet) firewall.Match { return match(p, mask) }
}

// tcpFlags reads which flags are looked at, and which of them have to be set. The first packet of a
// connection has SYN alone.
func tcpFlags(values []string) condition {
	if len(values) != 2 {
		return always(firewall.Unsure)
	}
	want := "NONE"
	if values[0] == "ALL" || slices.Contains(strings.Split(values[0], ","), "SYN") {
		want = "SYN"
	}
	return always(firewall.Is(values[1] == want))
}
