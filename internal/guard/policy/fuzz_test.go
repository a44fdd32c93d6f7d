// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// FuzzPolicyFile holds that a file is either compiled or refused with what is wrong, and that
// what was compiled judges any call.
func FuzzPolicyFile(f *testing.F) {
	for _, seed := range []string{
		"", original, "default: block\nrules: [{name: a, tools: ['x:[a-c]*'], action: allow, conditions: [{argument: '**', regex: x}]}]", "a: &a [*a]", "limits: {per_tool: {a: 1}}",
		rule("block", "{argument: /a/0, as: sql, unbounded_select: 5}"), rule("allow", "{argument: a.*.b, as: path, inside: ['${HOME}']}"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("p", []byte(text), Environment{Home: "/home/nobody", Dir: "/srv/nothing"})
		if err != nil {
			if p != nil || !strings.HasPrefix(err.Error(), "p:") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		set := NewSet(Environment{}, p)
		for _, arguments := range []string{`{}`, `{"a":[1,"x",{"b":null}]}`, `[`} {
			d := set.Decide(Call{Method: ToolsCall, Server: "x", Name: "a", Arguments: []byte(arguments)})
			if d.Action < Allow || d.Action > Block {
				t.Errorf("%q decides %v", text, d)
			}
		}
		p.Warnings()
	})
}

// FuzzArguments holds that what cannot be read is refused by a rule that forbids and is not let
// through by one that allows, whatever the bytes are.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"path":"/srv/project/x"}`, `{"path":"/srv/project/../x"}`, `{"path":["a",5]}`, `{"Path":"x"}`, `{"path":"x","path":"/etc"}`, `{`, ``} {
		f.Add(seed)
	}
	env := Environment{Home: "/home/nobody", Dir: "/srv/project", Project: "/srv/project"}
	parse := func(text string) *Set {
		p, err := Parse("p", []byte(text), env)
		if err != nil {
			f.Fatal(err)
		}
		return NewSet(env, p)
	}
	forbids := parse(rule("block", "{argument: path, as: path, not_inside: ['${PROJECT}']}"))
	allows := parse("default: block\n" + rule("allow", "{argument: path, as: path, inside: ['${PROJECT}']}"))
	f.Fuzz(func(t *testing.T, arguments string) {
		c := Call{Method: ToolsCall, Name: "t", Arguments: []byte(arguments)}
		forbidden, allowed := forbids.Decide(c).Action == Block, allows.Decide(c).Action == Allow
		if forbidden == allowed {
			t.Errorf("%q: forbidden %v, allowed %v", arguments, forbidden, allowed)
		}
		var seen struct{ Path any }
		if allowed && json.Unmarshal([]byte(arguments), &seen) != nil {
			t.Errorf("%q is no JSON and is allowed", arguments)
		}
	})
}

// FuzzNumbers holds the comparison of numbers against that of rational numbers.
func FuzzNumbers(f *testing.F) {
	for _, pair := range [][2]string{{"1", "1.0"}, {"-0", "0e5"}, {"9007199254740993", "9007199254740992"}, {"1e3", "999.9"}, {"-1e-3", "-0.0011"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isJSONNumber(a) || !isJSONNumber(b) {
			if json.Valid([]byte(a)) && isJSONNumber(b) && strings.Trim(a, "0123456789+-.eE") == "" {
				t.Errorf("%q is a number of JSON", a)
			}
			return
		}
		if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
			t.Errorf("%q or %q is no number of JSON", a, b)
		}
		if len(a)+len(b) > 40 || strings.Contains(exponent(a)+exponent(b), "000") || len(exponent(a)) > 4 || len(exponent(b)) > 4 {
			return
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := compareNumbers(a, b), x.Cmp(y); got != want {
			t.Errorf("%s and %s compare as %d, want %d", a, b, got, want)
		}
	})
}

func exponent(text string) string {
	_, e, _ := strings.Cut(strings.ToLower(text), "e")
	return e
}

// FuzzGlob holds the matcher against one that tries everything, and that patterns which both take
// a text overlap.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][3]string{{"a*b", "*c", "axb"}, {"[!a-c]?", "*", "xy"}, {"**a", "a", "a"}, {"[]a]", "?", "]"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, a, b, text string) {
		if len(a)+len(b)+len(text) > 30 {
			return
		}
		x, errX := parseGlob(a)
		y, errY := parseGlob(b)
		if errX != nil || errY != nil {
			return
		}
		if got, want := x.matches(text), slowly(x, []rune(text)); got != want {
			t.Errorf("%q takes %q: %v", a, text, got)
		}
		if x.matches(text) && y.matches(text) && !overlap(x, y) {
			t.Errorf("%q and %q take %q and do not overlap", a, b, text)
		}
		if overlap(x, y) != overlap(y, x) {
			t.Errorf("%q and %q overlap one way", a, b)
		}
	})
}

func slowly(g glob, text []rune) bool {
	switch {
	case len(g) == 0:
		return len(text) == 0
	case g[0].kind == '*':
		return slowly(g[1:], text) || len(text) > 0 && slowly(g, text[1:])
	default:
		return len(text) > 0 && g[0].takes(text[0]) && slowly(g[1:], text[1:])
	}
}

// ExampleSet shows how a call is judged.
func ExampleSet() {
	p, err := Parse("guard.yaml", []byte(rule("block", "{argument: sql, as: sql, unbounded_select: true}")), Environment{})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := NewSet(Environment{}, p).Decide(Call{Method: ToolsCall, Server: "db", Name: "query", Arguments: []byte(`{"sql":"SELECT * FROM t"}`)})
	fmt.Println(d.Action, d.Rule, d.Line)
	fmt.Println(d.Sentence())
	// Output:
	// block r 2
	// The rule "r" of the policy forbids it.
}
