// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"sentinel/internal/reach"
)

func when(m Match) func(Packet) Match { return func(Packet) Match { return m } }

func port(n uint16) func(Packet) Match {
	return func(p Packet) Match { return Is(p.Port == n) }
}

func inputChain(policyDrop bool, rules ...Rule) Chain {
	return Chain{Family: "inet", Table: "f", Name: "in", Input: true, Hook: Input, DropPolicy: policyDrop, Rules: rules}
}

// cable is the one interface of the host in these tests.
var cable = Link{Index: 2, Name: "eth0", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}

func reached(f Facts, protocol, local string) string {
	v := f.Reach()(protocol, netip.MustParseAddrPort(local), "web")
	if v.Limited {
		return "limited"
	}
	return string(v.Answer)
}

// A chosen host that is let in limits an answer; one that may be chosen, or of which it is not known
// what it meets, leaves it open; and what is not understood never makes it filtered.
func TestReachOfRules(t *testing.T) {
	accept := func(m Match) Rule { return Rule{Matches: when(m), Action: Accept} }
	drop := func(m Match) Rule { return Rule{Matches: when(m), Action: Drop} }
	for name, c := range map[string]struct {
		chain Chain
		want  string
	}{
		"no rule":                           {inputChain(false), "reachable"},
		"policy":                            {inputChain(true), "filtered"},
		"accepted":                          {inputChain(true, Rule{Matches: port(80), Action: Accept}), "reachable"},
		"another port":                      {inputChain(true, Rule{Matches: port(81), Action: Accept}), "filtered"},
		"chosen hosts":                      {inputChain(true, accept(Particular)), "limited"},
		"all but chosen hosts":              {inputChain(true, accept(AllButSome)), "reachable"},
		"chosen hosts are dropped":          {inputChain(false, drop(Particular)), "reachable"},
		"all but chosen hosts are dropped":  {inputChain(false, drop(AllButSome)), "limited"},
		"a list, perhaps empty":             {inputChain(true, accept(PerhapsSome)), "unknown"},
		"a list is dropped":                 {inputChain(false, drop(PerhapsSome)), "reachable"},
		"all but a list are dropped":        {inputChain(false, drop(PerhapsAllBut)), "unknown"},
		"chosen twice":                      {inputChain(true, Rule{Matches: when(Particular), Action: Drop}, accept(Particular)), "limited"},
		"chosen out of the chosen":          {inputChain(true, drop(AllButSome), accept(Particular)), "unknown"},
		"not known, then the policy":        {inputChain(true, accept(Unsure)), "unknown"},
		"not known, and dropped either way": {inputChain(true, drop(Unsure)), "filtered"},
		"not known, and in either way":      {inputChain(false, accept(Unsure)), "reachable"},
		"not known, then accepted":          {inputChain(true, drop(Unsure), accept(Always)), "unknown"},
		"to a program":                      {inputChain(false, Rule{Action: Divert}), "unknown"},
		"a chain that is not there":         {inputChain(true, Rule{Action: Jump, Chain: "gone"}), "unknown"},
		"itself":                            {inputChain(true, Rule{Action: Jump, Chain: "in"}), "unknown"},
		"to count":                          {inputChain(true, Rule{Matches: when(Unsure)}), "filtered"},
	} {
		f := Facts{Chains: []Chain{c.chain}, Links: []Link{cable}}
		if got := reached(f, "tcp", "[::]:80"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWaysThatDifferLimit(t *testing.T) {
	inside := Link{Index: 3, Name: "inside", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
	by := func(name string) func(Packet) Match {
		return func(p Packet) Match { return Is(p.Interface == name) }
	}
	chain := inputChain(true, Rule{Matches: by("inside"), Action: Accept})
	for name, c := range map[string]struct {
		links []Link
		local string
		want  string
	}{
		"one of two interfaces": {[]Link{cable, inside}, "0.0.0.0:80", "limited"},
		"the only one":          {[]Link{inside}, "0.0.0.0:80", "reachable"},
		"another":               {[]Link{cable}, "192.0.2.1:80", "filtered"},
		"no IPv6 here":          {[]Link{inside}, "[::]:80", "reachable"},
	} {
		if got := reached(Facts{Chains: []Chain{chain}, Links: c.links}, "tcp", c.local); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	toOne := func(p Packet) Match {
		if !p.To.IsValid() {
			return Unsure // broadcast or a group
		}
		return Never
	}
	group := Facts{Chains: []Chain{inputChain(true, Rule{Matches: toOne, Action: Accept})}, Links: []Link{cable}}
	if tcp, udp := reached(group, "tcp", "0.0.0.0:5353"), reached(group, "udp", "0.0.0.0:5353"); tcp != "filtered" || udp != "unknown" {
		t.Errorf("a group: tcp %s, udp %s", tcp, udp)
	}
	var many []Link
	for i := range maxWays + 1 {
		many = append(many, Link{Index: i + 2, Name: fmt.Sprintf("eth%d", i), Addresses: cable.Addresses})
	}
	named := func(p Packet) Match {
		if p.Interface == "" {
			return Unsure
		}
		return Is(p.Interface == "eth0")
	}
	if got := reached(Facts{Chains: []Chain{inputChain(true, Rule{Matches: named, Action: Accept})}, Links: many}, "tcp", "0.0.0.0:80"); got != "unknown" {
		t.Errorf("many interfaces: %s", got)
	}
}

func TestChainsOfOtherPlaces(t *testing.T) {
	shut := inputChain(true)
	at := func(hook Hook, family string) Chain {
		c := shut
		c.Hook, c.Family, c.Table = hook, family, "other"
		return c
	}
	divert := inputChain(false, Rule{Matches: port(81), Action: Divert})
	divert.Hook, divert.Table = Translation, "nat"
	away := divert
	away.Rules = []Rule{{Matches: port(81), Action: Divert, Target: netip.MustParseAddrPort("203.0.113.9:80")}}
	for name, c := range map[string]struct {
		chains []Chain
		want   string
	}{
		"a device":                        {[]Chain{at(Aside, "netdev")}, "unknown"},
		"before routing":                  {[]Chain{at(Prerouting, "inet")}, "filtered"},
		"before routing, with a redirect": {[]Chain{at(Prerouting, "inet"), divert}, "unknown"},
		"behind a redirect":               {[]Chain{shut, divert}, "filtered"},
		"before routing, sent away":       {[]Chain{at(Prerouting, "inet"), away}, "filtered"},
		"another family":                  {[]Chain{at(Input, "ip6")}, "reachable"},
		"not by itself":                   {[]Chain{at(NoHook, "inet")}, "reachable"},
	} {
		if got := reached(Facts{Chains: c.chains, Links: []Link{cable}}, "tcp", "0.0.0.0:80"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Two jumps in each of a hundred chains make more ways than can be walked.
func TestAWalkIsBounded(t *testing.T) {
	chains := []Chain{inputChain(true, Rule{Action: Jump, Chain: "0"})}
	for i := range 40 {
		next := fmt.Sprint(i + 1)
		chains = append(chains, Chain{Family: "inet", Table: "f", Name: fmt.Sprint(i), Rules: []Rule{{Action: Jump, Chain: next}, {Action: Jump, Chain: next}}})
	}
	chains = append(chains, Chain{Family: "inet", Table: "f", Name: "40"})
	if got := reached(Facts{Chains: chains, Links: []Link{cable}}, "tcp", "0.0.0.0:80"); got != "unknown" {
		t.Error(got)
	}
}

func TestRulesThatAreNotReadAreNoAnswer(t *testing.T) {
	f := Facts{Unreadable: fs.ErrPermission, Links: []Link{cable}}
	v := f.Reach()("tcp", netip.MustParseAddrPort("0.0.0.0:80"), "")
	if v.Answer != reach.Unknown || v.Why != "the rules of the packet filter are not readable without root" {
		t.Errorf("%+v", v)
	}
	f.Chains = []Chain{inputChain(true)} // of which no other rule makes another
	if got := reached(f, "tcp", "0.0.0.0:80"); got != "filtered" {
		t.Error(got)
	}
}

func TestReachOfAMac(t *testing.T) {
	for name, c := range map[string]struct {
		a    Application
		want string
		why  string
	}{
		"both off":       {Application{Passes: true}, "reachable", ""},
		"blocks all":     {Application{On: true, BlocksAll: true}, "filtered", ""},
		"on":             {Application{On: true, Passes: true}, "unknown", "for each program"},
		"pf blocks":      {Application{}, "unknown", "rules of pf block"},
		"pf is not read": {Application{PassesErr: fs.ErrPermission}, "unknown", "without root"},
		"not read":       {Application{Unreadable: errors.New("gone")}, "unknown", "gone"},
	} {
		v := Facts{Application: &c.a}.Reach()("tcp", netip.MustParseAddrPort("[::]:80"), "web")
		if string(v.Answer) != c.want || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %+v, want %s", name, v, c.want)
		}
	}
	blocks := Facts{Application: &Application{On: true, BlocksAll: true, Exempt: []string{"mDNSResponder"}}}.Reach()
	if v := blocks("udp", netip.MustParseAddrPort("0.0.0.0:5353"), "mDNSResponder"); v.Answer != reach.Unknown {
		t.Errorf("Bonjour: %+v", v)
	}
}

func TestMatchesAreCombinedSoundly(t *testing.T) {
	all := []Match{Never, Always, Particular, PerhapsSome, AllButSome, PerhapsAllBut, Unsure}
	for _, a := range all {
		if a.Not().Not() != a || a.And(Never) != Never || a.And(Always) != a || a.Or(Always) != Always || a.Or(Never) != a {
			t.Errorf("%v: %v, %v, %v", a, a.Not(), a.And(Always), a.Or(Never))
		}
		for _, b := range all {
			if a.And(b) != b.And(a) {
				t.Errorf("%v and %v: %v, %v", a, b, a.And(b), b.And(a))
			}
		}
	}
	for _, c := range []struct{ a, b, want Match }{
		{Particular, PerhapsAllBut, PerhapsSome}, {AllButSome, PerhapsAllBut, PerhapsAllBut}, {Unsure, Particular, PerhapsSome}, {Unsure, AllButSome, Unsure},
	} {
		if got := c.a.And(c.b); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
