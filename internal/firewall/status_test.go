// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func input(jumps ...string) Chain {
	c := chain("INPUT", false, jumps...)
	c.Input, c.Hook = true, Input
	return c
}

// chain drops what comes back from the chains that it jumps to.
func chain(name string, drops bool, jumps ...string) Chain {
	c := Chain{Table: "filter", Name: name, Drops: drops, Jumps: jumps}
	for _, j := range jumps {
		c.Rules = append(c.Rules, Rule{Action: Jump, Chain: j})
	}
	if drops {
		c.Rules = append(c.Rules, Rule{Action: Drop})
	}
	return c
}

func dropping(table string) Chain {
	c := chain("INPUT", true)
	c.Input, c.Hook, c.Table = true, Input, table
	return c
}

func TestVerdictRestsOnWhatTheKernelHasLoaded(t *testing.T) {
	for name, c := range map[string]struct {
		facts Facts
		want  string
		says  string
	}{
		"nothing":     {Facts{}, Disabled, "no rule"},
		"accepts all": {Facts{Chains: []Chain{input()}}, Disabled, "no rule"},
		"drop policy": {Facts{Chains: []Chain{{Table: "t", Name: "in", Input: true, DropPolicy: true}}}, Active, "chain in of table t"},
		"hosts that are chosen": {Facts{Chains: []Chain{{Table: "filter", Name: "INPUT", Input: true, Drops: true, Rules: []Rule{
			{Action: Drop, Matches: func(p Packet) Match { return Is(p.Port == 5432).And(Particular) }},
		}}}}, Disabled, ""},
		"all but hosts that are chosen": {Facts{Chains: []Chain{{Table: "filter", Name: "INPUT", Input: true, Drops: true, Rules: []Rule{
			{Action: Drop, Matches: func(Packet) Match { return Particular }}, {Action: Drop, Matches: func(Packet) Match { return AllButSome }},
		}}}}, Active, "INPUT"},
		"what no packet tells of": {Facts{Chains: []Chain{{Table: "filter", Name: "INPUT", Input: true, Drops: true, Rules: []Rule{
			{Action: Drop, Matches: func(Packet) Match { return Never }},
		}}}}, Disabled, "no rule"},
		"a rule that drops": {Facts{Chains: []Chain{dropping("filter")}}, Active, "INPUT"},
		"a drop two jumps away": {
			Facts{Chains: []Chain{input("a"), chain("a", false, "b"), chain("b", true)}}, Active, "INPUT",
		},
		"a drop that nothing jumps to": {Facts{Chains: []Chain{input("a"), chain("a", false), chain("b", true)}}, Disabled, ""},
		"a drop in a chain of output":  {Facts{Chains: []Chain{input(), {Table: "filter", Name: "OUTPUT", DropPolicy: true}}}, Disabled, ""},
		"a jump into nowhere":          {Facts{Chains: []Chain{input("gone")}}, Disabled, ""},
		"the same name in another table": {
			Facts{Chains: []Chain{input("a"), {Table: "nat", Name: "a", Drops: true}}}, Disabled, "",
		},
		"the same name in another family": {
			Facts{Chains: []Chain{
				{Family: "ip", Table: "t", Name: "in", Input: true, Jumps: []string{"a"}}, {Family: "ip6", Table: "t", Name: "a", Drops: true},
			}}, Disabled, "",
		},
		"a loop":                {Facts{Chains: []Chain{input("a"), chain("a", false, "b"), chain("b", false, "a", "INPUT")}}, Disabled, ""},
		"a loop with a drop":    {Facts{Chains: []Chain{input("a"), chain("a", false, "a", "b"), chain("b", true, "a")}}, Unknown, "do not tell whether chain INPUT"},
		"a chain onto itself":   {Facts{Chains: []Chain{input("INPUT")}}, Disabled, ""},
		"own table":             {Facts{Chains: []Chain{{Table: OwnTable, Name: "input", Input: true, Drops: true}}}, Disabled, ""},
		"own chain of iptables": {Facts{Chains: []Chain{input(OwnChain), chain(OwnChain, true)}}, Disabled, ""},
		"own chain and a drop":  {Facts{Chains: []Chain{input(OwnChain, "a"), chain(OwnChain, true), chain("a", true)}}, Active, "INPUT"},
		"own table and another": {Facts{Chains: []Chain{{Table: OwnTable, Name: "input", Input: true, Drops: true}, dropping("t")}}, Active, "table t"},
		"a manager and its rules": {
			Facts{Managers: []string{"ufw"}, Chains: []Chain{{Table: "filter", Name: "INPUT", Input: true, DropPolicy: true}}}, Active, "INPUT",
		},
		"a manager that loaded nothing": {Facts{Managers: []string{"ufw"}, Chains: []Chain{input()}}, Disabled, "ufw says it is on"},
		"unreadable":                    {Facts{Unreadable: fs.ErrPermission}, Unknown, "not readable without root"},
		"unreadable with a manager":     {Facts{Managers: []string{"firewalld"}, Unreadable: fs.ErrPermission}, Active, "firewalld is on"},
		"unreadable with leftovers": {
			Facts{Chains: []Chain{input()}, Unreadable: errors.New("cut off")}, Unknown, "cut off",
		},
		"a drop, and more that is unreadable": {
			Facts{Chains: []Chain{dropping("t")}, Unreadable: fs.ErrPermission}, Active, "table t",
		},
	} {
		got := Assess(c.facts)
		if got.State != c.want || !strings.Contains(got.Evidence, c.says) || got.Evidence == "" {
			t.Errorf("%s: got %+v, want %s with %q", name, got, c.want, c.says)
		}
	}
}

func TestEvidenceSaysWhichFamilyIsFiltered(t *testing.T) {
	in := func(family string) Chain {
		return Chain{Family: family, Table: "filter", Name: "INPUT", Input: true, DropPolicy: true}
	}
	open := Chain{Family: "ip6", Table: "filter", Name: "INPUT", Input: true}
	const first = "chain INPUT of table ip filter filters what comes in"
	for want, facts := range map[string]Facts{
		first + ", IPv4 only": {Chains: []Chain{in("ip"), open}},
		"chain INPUT of table ip6 filter filters what comes in, IPv6 only": {Chains: []Chain{in("ip6"), in("ip6")}},
		first: {Chains: []Chain{in("ip"), in("ip6")}},
		"chain INPUT of table inet filter filters what comes in":   {Chains: []Chain{in("inet"), in("ip")}},
		"chain INPUT of table netdev filter filters what comes in": {Chains: []Chain{in("netdev")}},
	} {
		if got := Assess(facts); got != (Status{Active, want}) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	if got := Assess(Facts{Chains: []Chain{in("ip")}, Unreadable: fs.ErrPermission}); got.Evidence != first {
		t.Errorf("the other family could not be read: %+v", got)
	}
}

func TestReasonsMakeSentences(t *testing.T) {
	for err, want := range map[error]string{
		fs.ErrPermission:         "are not readable without root",
		context.DeadlineExceeded: "did not answer in time",
		errors.New("cut off"):    "could not be read: cut off",
	} {
		if got := Assess(Facts{Unreadable: err}); got != (Status{Unknown, "the rules " + want}) {
			t.Errorf("%v: %+v", err, got)
		}
		if got := Assess(Facts{Unreadable: err, Managers: []string{"ufw"}}); got != (Status{Active, "ufw is on (its rules " + want + ")"}) {
			t.Errorf("%v: %+v", err, got)
		}
	}
}

// Sixty layers of two chains that both continue in both of the next layer have
// 2^60 ways through.
func TestManyWaysThroughAreWalkedOnce(t *testing.T) {
	chains := []Chain{input("a0", "b0")}
	for i := range 60 {
		next := []string{fmt.Sprintf("a%d", i+1), fmt.Sprintf("b%d", i+1)}
		chains = append(chains, chain(fmt.Sprintf("a%d", i), false, next...), chain(fmt.Sprintf("b%d", i), false, next...))
	}
	if got := Assess(Facts{Chains: chains}); got.State != Disabled {
		t.Errorf("got %+v", got)
	}
}

func FuzzAssess(f *testing.F) {
	f.Add("INPUT>a a>b b>a b!", false)
	f.Add("x>x y!", true)
	f.Fuzz(func(t *testing.T, text string, unreadable bool) {
		var facts Facts
		for word := range strings.FieldsSeq(text) {
			name, jump, _ := strings.Cut(word, ">")
			facts.Chains = append(facts.Chains, Chain{
				Table: "filter", Name: strings.TrimSuffix(name, "!"), Input: strings.HasPrefix(name, "I"), Drops: strings.HasSuffix(name, "!"), Jumps: []string{jump},
			})
		}
		if unreadable {
			facts.Unreadable = fs.ErrPermission
		}
		got := Assess(facts)
		if unreadable && got.State == Disabled || !unreadable && got.State == Unknown {
			t.Errorf("unreadable %v is %+v", unreadable, got)
		}
		if got.State == Active && !strings.Contains(text, "!") {
			t.Errorf("active without a drop: %q", text)
		}
	})
}
