// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Rules and calls are drawn from few words, so that they often meet.
var (
	someTools      = []string{"read", "write", "query"}
	someGlobs      = []string{"*", "read", "s:*", "other:*", "{read,write}", "*e*"}
	someConditions = []string{
		"", "{argument: path, starts_with: /home}", "{argument: path, as: path, not_inside: [/home/u]}", "{argument: '**', contains: secret}",
		"{argument: sql, as: sql, unbounded_select: true}", "{argument: n, gt: 3}", "{argument: n, exists: true}", "{argument: url, as: url, equals: 'https://example.org/'}",
	}
	someArguments = []string{
		"{}", `{"path":"/home/u/a"}`, `{"path":"/home/u/../v"}`, `{"path":7}`, `{"path":"/etc/secret","n":4}`, `{"sql":"select * from t"}`, `{"sql":"select ' from"}`,
		`{"n":3}`, `{"n":"4"}`, `{"url":"https://EXAMPLE.org"}`, `null`, `[]`, `{"a":[{"b":"secret"}]}`,
	}
)

func someRule(t *rapid.T, name string, actions ...string) string {
	text := fmt.Sprintf("  - {name: %s, tools: ['%s'], action: %s", name, rapid.SampledFrom(someGlobs).Draw(t, name+" tools"), rapid.SampledFrom(actions).Draw(t, name+" action"))
	if c := rapid.SampledFrom(someConditions).Draw(t, name+" condition"); c != "" {
		text += ", conditions: [" + c + "]"
	}
	return text + "}\n"
}

func someRules(t *rapid.T, label string, actions ...string) (rules []string) {
	for i := range rapid.IntRange(0, 5).Draw(t, label) {
		rules = append(rules, someRule(t, fmt.Sprintf("%s-%d", label, i), actions...))
	}
	return rules
}

func file(standard string, rules []string) string {
	text := "version: 1\ndefault: " + standard + "\n"
	if len(rules) > 0 {
		text += "rules:\n" + strings.Join(rules, "")
	}
	return text
}

func policyOf(t *rapid.T, text string) *Policy {
	p, err := Parse("guard.yaml", []byte(text), Environment{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func someCall(t *rapid.T) Call {
	return Call{
		Method: ToolsCall, Server: "s",
		Name:      rapid.SampledFrom(someTools).Draw(t, "tool"),
		Arguments: []byte(rapid.SampledFrom(someArguments).Draw(t, "arguments")),
	}
}

var (
	allActions = []string{"allow", "log", "allow_with_approval", "block"}
	defaults   = rapid.SampledFrom([]string{"allow", "allow_with_approval", "block"})
)

func decided(c Call, policies ...*Policy) Action {
	return NewSet(Environment{}, policies...).Decide(c).Action
}

func TestARuleThatForbidsNeverAllowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		standard, rules, call := defaults.Draw(t, "default"), someRules(t, "rule", allActions...), someCall(t)
		before := decided(call, policyOf(t, file(standard, rules)))
		forbids := []string{"block"}
		if standard != "block" { // there a rule that asks lets a person allow what nobody could
			forbids = append(forbids, "allow_with_approval")
		}
		more := append(rules, someRule(t, "more", forbids...))
		if after := decided(call, policyOf(t, file(standard, more))); after < before {
			t.Fatalf("%v, and with one more %v:\n%s", before, after, file(standard, more))
		}
	})
}

func TestOrderOfRulesAndFilesMeansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		standard, rules, call := defaults.Draw(t, "default"), someRules(t, "rule", allActions...), someCall(t)
		first, second := policyOf(t, file(standard, rules)), policyOf(t, file(defaults.Draw(t, "second default"), someRules(t, "other", allActions...)))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		shuffled := policyOf(t, file(standard, rules))
		if one, two := decided(call, first), decided(call, shuffled); one != two {
			t.Fatalf("%v, and in another order %v:\n%s", one, two, file(standard, rules))
		}
		if one, two := decided(call, first, second), decided(call, second, first); one != two {
			t.Fatalf("%v, and with the files in another order %v", one, two)
		}
	})
}

func TestUnderDefaultBlockOnlyRulesThatAllowLetPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allow, rest, call := someRules(t, "allow", "allow"), someRules(t, "rest", "log", "allow_with_approval", "block"), someCall(t)
		if got := decided(call, policyOf(t, file("block", rest))); got <= Log {
			t.Fatalf("%v without a rule that allows:\n%s", got, file("block", rest))
		}
		if decided(call, policyOf(t, file("block", append(rest, allow...)))) > Log {
			return
		}
		for _, one := range allow {
			if decided(call, policyOf(t, file("block", []string{one}))) <= Log {
				return
			}
		}
		t.Fatalf("it passes, and no rule allows it:\n%s", file("block", append(rest, allow...)))
	})
}

func TestABrokenFileDecidesAsTheOneBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.yaml")
	rapid.Check(t, func(r *rapid.T) {
		good, call := file(defaults.Draw(r, "default"), someRules(r, "rule", allActions...)), someCall(r)
		write(t, path, good)
		live, err := Open(Environment{}, Source{Path: path})
		if err != nil {
			r.Fatal(err)
		}
		before := live.Current().Decide(call)
		at := rapid.IntRange(0, len(good)).Draw(r, "at")
		broken := good[:at] + rapid.SampledFrom([]string{"[", "\x00", "rules: {", "\n\taction", "*x"}).Draw(r, "text") + good[at:]
		write(t, path, broken)
		if live.Reload() == nil {
			return // it happens to mean something
		}
		if after := live.Current().Decide(call); after.Action != before.Action || after.Rule != before.Rule {
			r.Fatalf("%v, and with a broken file %v:\n%s", before, after, broken)
		}
	})
}
