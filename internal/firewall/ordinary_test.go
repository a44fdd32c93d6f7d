// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestFirewallKeepsOrdinaryHostsFromMostPorts(t *testing.T) {
	inside := Link{Index: 3, Name: "inside", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
	accept := func(m func(Packet) Match) Rule { return Rule{Action: Accept, Matches: m} }
	drop := func(m func(Packet) Match) Rule { return Rule{Action: Drop, Matches: m} }
	ports := func(from, to uint16) func(Packet) Match {
		return func(p Packet) Match { return Is(from <= p.Port && p.Port <= to) }
	}
	by := func(name string) func(Packet) Match {
		return func(p Packet) Match { return Is(p.Interface == name) }
	}
	to := func(prefix string) func(Packet) Match {
		return func(p Packet) Match { return Is(netip.MustParsePrefix(prefix).Contains(p.To)) }
	}
	untracked := func(p Packet) Match {
		if p.Untracked {
			return Unsure
		}
		return Always
	}
	marked := func(p Packet) Match {
		if p.Marked {
			return Unsure
		}
		return Never
	}
	for name, c := range map[string]struct {
		policyDrop bool
		rules      []Rule
		want       string
	}{
		"a policy":                               {true, nil, Active},
		"a policy and open ports":                {true, []Rule{accept(port(22)), accept(port(443))}, Active},
		"a policy, and most ports open":          {true, []Rule{accept(ports(23, 65535))}, Disabled},
		"a policy that all are spared":           {true, []Rule{accept(when(Always))}, Disabled},
		"a drop at the end":                      {false, []Rule{accept(port(22)), drop(when(Always))}, Active},
		"low ports alone":                        {false, []Rule{drop(ports(1, 1023))}, Active},
		"one port":                               {false, []Rule{drop(port(probePorts[0]))}, Disabled},
		"a few ports":                            {false, []Rule{drop(port(probePorts[0])), drop(port(probePorts[1])), drop(ports(40000, 50000))}, Disabled},
		"one family":                             {false, []Rule{drop(func(p Packet) Match { return Is(p.V6) })}, Active},
		"one interface":                          {false, []Rule{drop(by("eth0"))}, Active},
		"all but one interface":                  {true, []Rule{accept(by("inside"))}, Active},
		"an interface that is not there":         {false, []Rule{drop(by("eth9"))}, Disabled},
		"addresses of others":                    {false, []Rule{drop(to("127.0.0.0/8")), drop(to("172.17.0.2/32"))}, Disabled},
		"an address, but by its interface":       {false, []Rule{accept(by("inside")), drop(to("10.0.0.1/32"))}, Disabled},
		"one of the addresses":                   {false, []Rule{drop(to("10.0.0.1/32"))}, Active},
		"what is not known is dropped":           {false, []Rule{drop(when(Unsure))}, Unknown},
		"what is not known, then the rest":       {false, []Rule{drop(when(Unsure)), accept(when(Always))}, Unknown},
		"what is not known is spared":            {true, []Rule{accept(when(Unsure))}, Active},
		"the same by a rule":                     {false, []Rule{accept(when(Unsure)), drop(when(Always))}, Active},
		"hosts of a country are spared":          {true, []Rule{accept(when(PerhapsSome))}, Active},
		"hosts of a country are dropped":         {false, []Rule{drop(when(PerhapsSome))}, Disabled},
		"all below a rate are spared":            {true, []Rule{accept(when(PerhapsAllBut))}, Disabled},
		"some ports are not tracked":             {false, []Rule{{Untracks: true, Matches: port(53)}, drop(untracked)}, Active},
		"nothing is tracked":                     {false, []Rule{{Untracks: true}, drop(untracked)}, Unknown},
		"marked for another port, then dropped":  {false, []Rule{{Marks: true, Matches: port(53)}, drop(marked)}, Disabled},
		"marked perhaps, and dropped perhaps":    {false, []Rule{{Marks: true, Matches: when(Unsure)}, drop(marked)}, Unknown},
		"programs decide":                        {false, []Rule{drop(when(Never)), {Action: Divert}}, Unknown},
		"a drop perhaps, and a chain that loops": {false, []Rule{drop(when(PerhapsSome)), {Action: Jump, Chain: "in"}}, Unknown},
	} {
		ch := inputChain(c.policyDrop, c.rules...)
		ch.Drops = true
		if got := Assess(Facts{Chains: []Chain{ch}, Links: []Link{cable, inside}}); got.State != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestInterfacesThatAreNotKnownOrTooMany(t *testing.T) {
	named := func(p Packet) Match {
		if p.Interface == "" {
			return Unsure
		}
		return Is(p.Interface == "eth70")
	}
	ch := inputChain(false, Rule{Action: Drop, Matches: named})
	ch.Drops = true
	var many []Link
	for i := range maxLinks + 10 {
		many = append(many, Link{Index: i + 2, Name: fmt.Sprintf("eth%d", i)})
	}
	for name, c := range map[string]struct {
		links []Link
		want  string
	}{"none": {nil, Unknown}, "many": {many, Unknown}, "others": {many[:maxLinks], Disabled}, "that one": {many[70:71], Active}} {
		if got := Assess(Facts{Chains: []Chain{ch}, Links: c.links}); got.State != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// Rules about the bridge of containers keep no other host out.
func TestWhatRunsOnThisHostIsNoOrdinaryHost(t *testing.T) {
	bridge := Link{Index: 3, Name: "docker0", Inner: true}
	from := func(name string) Chain {
		ch := inputChain(false, Rule{Action: Drop, Matches: func(p Packet) Match { return Is(p.Interface == name) }})
		ch.Drops = true
		return ch
	}
	for name, want := range map[string]string{bridge.Name: Disabled, cable.Name: Active} {
		if got := Assess(Facts{Chains: []Chain{from(name)}, Links: []Link{cable, bridge}}); got.State != want {
			t.Errorf("what comes in by %s is dropped: %+v, want %s", name, got, want)
		}
	}
}

// Translation at a node of Kubernetes has thousands of rules that mark, and as many interfaces as pods.
func TestRulesThatMarkAreWalkedWhereThatMatters(t *testing.T) {
	asked := 0
	count := Rule{Marks: true, Matches: func(Packet) Match { asked++; return Never }}
	marking := Chain{Family: "inet", Table: "nat", Name: "pre", Hook: Translation, Rules: []Rule{count}}
	marked := func(p Packet) Match {
		if p.Marked {
			return Unsure
		}
		return Never
	}
	for name, c := range map[string]struct {
		matches func(Packet) Match
		walked  bool
	}{"a drop of one port": {port(23), false}, "a drop of what is marked": {marked, true}} {
		ch := inputChain(false, Rule{Action: Drop, Matches: c.matches})
		ch.Drops, asked = true, 0
		got := Assess(Facts{Chains: []Chain{ch, marking}, Links: []Link{cable}})
		if got.State != Disabled || (asked > 0) != c.walked {
			t.Errorf("%s: %+v, walked %d times", name, got, asked)
		}
	}
}
