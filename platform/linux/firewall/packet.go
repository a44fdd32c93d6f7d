// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"
	"strings"

	"sentinel/internal/firewall"
)

// maxSteps bounds how many rules of iptables one packet is led through.
const maxSteps = 100000

// A step is a rule of iptables.
type step struct {
	text string
	list []string // its words, less the chain
}

// A course is a chain of iptables.
type course struct {
	policy string // "-" for a chain of the owner
	steps  []step
}

// tables are those of iptables, by name, and their chains by name.
type tables map[string]map[string]*course

// parseTables parses what iptables-save(8) prints: "*filter" begins a table,
// ":INPUT DROP [0:0]" names a chain, "-A INPUT ..." adds a rule.
func parseTables(b []byte) tables {
	all := tables{}
	chains := map[string]*course{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		switch name, rest, _ := strings.Cut(line, " "); {
		case strings.HasPrefix(line, "*"):
			chains = map[string]*course{}
			all[line[1:]] = chains
		case strings.HasPrefix(name, ":"):
			policy, _, _ := strings.Cut(rest, " ")
			chains[name[1:]] = &course{policy: policy}
		case name == "-A":
			chain, _, _ := strings.Cut(rest, " ")
			if c := chains[chain]; c != nil {
				c.steps = append(c.steps, step{line, words(rest)[1:]})
			}
		}
	}
	return all
}

// hooks are where a packet for this host comes by, in order.
var hooks = [][2]string{{"raw", "PREROUTING"}, {"mangle", "PREROUTING"}, {"nat", "PREROUTING"}, {"mangle", "INPUT"}, {"filter", "INPUT"}}

// A packet is the first of a connection from another host.
type packet struct {
	port  firewall.Port
	own   []netip.Addr // addresses it may be for
	peers []netip.Addr // addresses it may come from, besides those not known
}

// blocked returns the rule that keeps the packet from its port, or "" when none
// does so for certain.
func (t tables) blocked(p packet) string {
	for _, hook := range hooks {
		w := walk{packet: p, chains: t[hook[0]]}
		if w.chain(hook[1]) == stopped {
			return "table " + hook[0] + ": " + w.by
		}
	}
	return ""
}

// A fate is what has become of a packet.
type fate int

const (
	passes fate = iota
	letIn
	returned
	stopped
)

// A walk leads a packet through the chains of one table.
type walk struct {
	packet
	chains map[string]*course
	steps  int
	by     string // what stopped it
}

// chain leads the packet through a chain. The kernel forbids loops; what takes
// too long stops nothing.
func (w *walk) chain(name string) fate {
	c := w.chains[name]
	if c == nil {
		return passes
	}
	for _, s := range c.steps {
		if w.steps++; w.steps > maxSteps {
			return passes
		}
		fit, target, final := w.fits(s.list)
		if fit == never {
			continue
		}
		f := w.target(target, s)
		if f == stopped || f == letIn && fit == always {
			return f
		}
		if fit == always && (f == returned || final) {
			break
		}
	}
	if c.policy == "DROP" {
		w.by = "policy of " + name
		return stopped
	}
	return passes
}

// target does what a rule says. Targets that end nothing, such as LOG, are no
// chains and lead nowhere.
func (w *walk) target(name string, s step) fate {
	switch name {
	case "ACCEPT":
		return letIn
	case "RETURN":
		return returned
	case "DROP", "REJECT", "DNAT", "REDIRECT", "TARPIT":
		w.by = s.text
		return stopped
	default:
		return w.chain(name)
	}
}

// A fit says which of the packets a rule matches. Never stands for those, too,
// that the owner has narrowed down in a way that is not known here, such as a list of
// addresses or a rate: that is no rule about everyone.
type fit int

const (
	never fit = iota
	sometimes
	always
)

// plainMatches are the extensions whose options are known here.
var plainMatches = []string{"tcp", "udp", "conntrack", "state", "multiport", "comment", "addrtype"}

// fits reads a rule up to its target (iptables(8), iptables-extensions(8)).
// final says that the target is gone to and not returned from.
func (w *walk) fits(list []string) (found fit, target string, final bool) {
	found = always
	not := false
	for i := 0; i < len(list); {
		option := list[i]
		n := 1
		for option != "!" && i+n < len(list) && (n == 1 && option == "--comment" || list[i+n] != "!" && !strings.HasPrefix(list[i+n], "-")) {
			n++
		}
		values := list[i+1 : i+n]
		i += n
		switch {
		case option == "!":
			not = true
			continue
		case (option == "-j" || option == "-g") && len(values) > 0:
			return found, values[0], option == "-g"
		}
		found = min(found, w.option(option, values, not))
		not = false
	}
	return found, "", false
}

// option judges one condition.
func (w *walk) option(name string, values []string, not bool) fit {
	value := strings.Join(values, " ")
	switch name {
	case "--comment":
		return always
	case "-m":
		return is(slices.Contains(plainMatches, value), false)
	case "-p":
		return is(value == w.port.Protocol || value == "all", not)
	case "-i":
		return partly(value == "lo", not)
	case "-s":
		return w.source(value, not)
	case "-d":
		return w.destination(value, not)
	case "--dport", "--dports":
		return is(parseSpans(value).has(firewall.Port{Number: w.port.Number}), not)
	case "--ctstate", "--state":
		return is(slices.Contains(strings.Split(value, ","), "NEW"), not)
	case "--dst-type":
		return is(value == "LOCAL", not)
	case "--src-type":
		return is(value == "UNICAST", not)
	case "--tcp-flags":
		return is(len(values) == 2 && opens(values[0], values[1]), not)
	default:
		return never
	}
}

func is(match, not bool) fit {
	if match != not {
		return always
	}
	return never
}

// partly is for what names a part of the packets: all but those of loopback may
// be among them.
func partly(loopback, not bool) fit {
	switch {
	case loopback && !not:
		return never
	case loopback:
		return always
	default:
		return sometimes
	}
}

// source judges an address of the other end: what is refused to some is the
// owner's will unless a peer is among them.
func (w *walk) source(value string, not bool) fit {
	from, ok := parsePrefix(value)
	if !ok {
		return never
	}
	outside := func(a netip.Addr) bool { return !from.Contains(a) }
	if !not && within(from, w.peers) || not && (len(w.peers) == 0 || slices.ContainsFunc(w.peers, outside)) {
		return sometimes
	}
	return never
}

// destination judges an address of this end.
func (w *walk) destination(value string, not bool) fit {
	to, ok := parsePrefix(value)
	if !ok {
		return never
	}
	n := 0
	for _, a := range w.own {
		if to.Contains(a) != not {
			n++
		}
	}
	switch {
	case n == 0:
		return never
	case n == len(w.own):
		return always
	default:
		return sometimes
	}
}

// opens says whether the packet that opens a connection, which has SYN alone,
// has the flags in wanted of those in mask.
func opens(mask, wanted string) bool {
	syn := strings.Contains(","+mask+",", ",SYN,") || mask == "ALL"
	if wanted == "SYN" {
		return syn
	}
	return wanted == "NONE" && !syn
}
