// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/blocklist"
	"sentinel/internal/firewall"
)

// OwnChain is the chain of iptables that holds the blocked addresses.
const OwnChain = firewall.OwnChain

// builtIn are the chains of the table filter through which every packet of this
// machine, or one that it forwards, passes.
var builtIn = []string{"INPUT", "OUTPUT", "FORWARD"}

// A ruleset is what one family has of our rules, as "iptables -S" prints them.
type ruleset struct {
	v6     bool
	exists bool
	// foreign says that our chain has rules that are not ours. An accept before
	// ours would let through what they block.
	foreign bool
	// jumps counts the jumps to our chain; first says that one of them comes
	// before all other rules.
	jumps map[string]int
	first map[string]bool
	// copies counts the rules of an address by its option, -s and -d.
	copies map[string]map[netip.Addr]int
	order  []netip.Addr
	// neighbours are the rules of [neighbourRules] that come before all others.
	neighbours int
}

func newRuleset(v6 bool) ruleset {
	return ruleset{
		v6:    v6,
		jumps: map[string]int{}, first: map[string]bool{},
		copies: map[string]map[netip.Addr]int{"-s": {}, "-d": {}},
	}
}

func (r *ruleset) noteJumps(chain string, lines []string) {
	at := 0
	for _, line := range lines {
		if !strings.HasPrefix(line, "-A ") {
			continue
		}
		if strings.TrimSpace(line) == jump(chain) {
			r.jumps[chain]++
			r.first[chain] = r.first[chain] || at == 0
		}
		at++
	}
}

func jump(chain string) string { return "-A " + chain + " -j " + OwnChain }

// noteRules takes a further copy of a rule for neighbours as ours: two runs that made the chain at
// once both put them there, and a chain that counts as damaged is emptied.
func (r *ruleset) noteRules(lines []string) {
	wanted := neighbourRules(r.v6)
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "-A ") {
			continue
		}
		if at := slices.Index(wanted, strings.TrimPrefix(line, "-A ")); at >= 0 {
			if at == r.neighbours && len(r.order) == 0 {
				r.neighbours++
			}
			continue
		}
		option, a, ok := parseRule(line)
		if !ok {
			r.foreign = true
			continue
		}
		if r.copies["-s"][a]+r.copies["-d"][a] == 0 {
			r.order = append(r.order, a)
		}
		r.copies[option][a]++
	}
}

// neighbourRules let pass what neighbours find each other with. They return to the
// chain that jumped here, since what a firewall decides comes after it. What this machine forwards
// meets them too: its hop limit is one less by then, and the kernel forwards nothing from a link-local
// address, so that none of that passes.
func neighbourRules(v6 bool) []string {
	var list []string
	for kind := blocklist.ListenersFrom; v6 && kind <= blocklist.ListenersTo; kind++ {
		list = append(list, OwnChain+" -s "+blocklist.LinkLocal.String()+ofICMPv6(kind)+" -j RETURN")
	}
	for kind := blocklist.NeighboursFrom; v6 && kind <= blocklist.NeighboursTo; kind++ {
		list = append(list, OwnChain+ofICMPv6(kind)+" -m hl --hl-eq "+strconv.Itoa(blocklist.NeighbourHops)+" -j RETURN")
	}
	return list
}

func ofICMPv6(kind int) string { return " -p ipv6-icmp -m icmp6 --icmpv6-type " + strconv.Itoa(kind) }

// parseRule parses "-A SENTINEL -s 192.0.2.1/32 -j DROP".
func parseRule(line string) (option string, a netip.Addr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[1] != OwnChain || fields[2] != "-s" && fields[2] != "-d" || fields[4] != "-j" || fields[5] != "DROP" {
		return "", a, false
	}
	p, err := netip.ParsePrefix(fields[3])
	if err != nil || !p.IsSingleIP() {
		return "", a, false
	}
	return fields[2], p.Addr(), true
}

// addresses are those that are dropped as source and as destination.
func (r *ruleset) addresses() []netip.Addr {
	return slices.DeleteFunc(slices.Clone(r.order), func(a netip.Addr) bool {
		return r.copies["-s"][a] == 0 || r.copies["-d"][a] == 0
	})
}

func (r *ruleset) effective() bool {
	return r.exists && r.whole() && !slices.ContainsFunc(builtIn, func(c string) bool { return !r.first[c] })
}

// whole says that the chain has our rules and no others, those of neighbours first.
func (r *ruleset) whole() bool { return !r.foreign && r.neighbours == len(neighbourRules(r.v6)) }

// adding lists the commands that make the rules effective and block the
// addresses. There are none when nothing is missing.
func (r *ruleset) adding(addresses []netip.Addr) []string {
	var list []string
	have := r.copies
	if !r.exists {
		list = append(list, "-N "+OwnChain)
	}
	if !r.whole() {
		if r.exists {
			list = append(list, "-F "+OwnChain)
		}
		for _, rule := range neighbourRules(r.v6) {
			list = append(list, "-A "+rule)
		}
		addresses = append(r.addresses(), addresses...)
		have = newRuleset(r.v6).copies
	}
	for _, a := range addresses {
		for _, option := range []string{"-s", "-d"} {
			if have[option][a] == 0 {
				have[option][a]++
				list = append(list, "-A "+rule(option, a))
			}
		}
	}
	for _, chain := range builtIn {
		if r.first[chain] {
			continue
		}
		for range r.jumps[chain] {
			list = append(list, "-D "+chain+" -j "+OwnChain)
		}
		list = append(list, "-I "+chain+" 1 -j "+OwnChain)
	}
	return list
}

// removing lists the commands that delete every copy of the addresses' rules.
func (r *ruleset) removing(addresses []netip.Addr) []string {
	var list []string
	for _, a := range addresses {
		for _, option := range []string{"-s", "-d"} {
			for range r.copies[option][a] {
				list = append(list, "-D "+rule(option, a))
			}
		}
	}
	return list
}

func rule(option string, a netip.Addr) string {
	return OwnChain + " " + option + " " + a.String() + " -j DROP"
}
