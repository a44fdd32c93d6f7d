// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// compile reads rules that must be right.
func compile(t testing.TB, env Environment, text string) *Set {
	t.Helper()
	p, err := Parse("guard.yaml", []byte(text), env)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return NewSet(env, p)
}

// rule is one rule with a condition, for any tool.
func rule(action, condition string) string {
	return fmt.Sprintf("rules:\n  - {name: r, tools: ['*'], action: %s, conditions: [%s]}\n", action, condition)
}

func TestOperators(t *testing.T) {
	const matches, not = true, false
	for _, c := range []struct {
		condition, arguments string
		deny, allow          bool // whether a rule of that kind matches
	}{
		{`{argument: a, equals: x}`, `{"a":"x"}`, matches, matches},
		{`{argument: a, equals: x}`, `{"a":"y"}`, not, not},
		{`{argument: a, equals: x}`, `{"a":1}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":null}`, matches, not},
		{`{argument: a, equals: x}`, `{}`, matches, not},
		{`{argument: a, equals: x}`, ``, matches, not},
		{`{argument: a, equals: x}`, `[`, matches, not},
		{`{argument: a, equals: x}`, `{"a":["y","x"]}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":["x","x"]}`, matches, matches},
		{`{argument: a, equals: x}`, `{"a":[]}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":"y","a":"x"}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":"x","a":"y"}`, matches, not},
		{`{argument: a, equals: X, ignore_case: true}`, `{"a":"x"}`, matches, matches},
		{`{argument: a, equals: 1}`, `{"a":1.0}`, matches, matches},
		{`{argument: a, equals: 1}`, `{"a":10e-1}`, matches, matches},
		{`{argument: a, equals: 9007199254740993}`, `{"a":9007199254740992}`, not, not},
		{`{argument: a, equals: 0.1}`, `{"a":0.1000000000000000000001}`, not, not},
		{`{argument: a, equals: true}`, `{"a":true}`, matches, matches},
		{`{argument: a, equals: true}`, `{"a":"true"}`, matches, not},
		{`{argument: a, equals: null}`, `{"a":null}`, matches, matches},
		{`{argument: a, equals: [1, x]}`, `{"a":[1.0,"x"]}`, matches, matches},
		{`{argument: a, equals: {b: 1, c: 2}}`, `{"a":{"c":2,"b":1}}`, matches, matches},
		{`{argument: a, equals: {b: 1}}`, `{"a":{"c":2,"b":1}}`, not, not},
		// A name in another case is the argument to some servers and none to others.
		{`{argument: a, equals: x}`, `{"A":"x"}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":"x","A":"y"}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":"y","A":"x"}`, matches, not},
		{`{argument: a, equals: x}`, `{"a":"x","A":"x"}`, matches, matches},
		{`{argument: '**.key', equals: x}`, `{"b":{"\u212aey":"x"}}`, matches, not},
		{`{argument: '**.key', equals: x}`, `{"b":{"KEYS":"x"}}`, not, not},
		{`{argument: /a/b, equals: x}`, `{"A":{"B":"x"}}`, matches, not},
		{`{argument: a, exists: true}`, `{"A":1}`, matches, not},
		{`{argument: a, exists: false}`, `{"A":1}`, matches, not},
		{`{argument: a, exists: true, equals: x}`, `{"A":"x"}`, matches, not},
		{`{argument: a, not_equals: x}`, `{"a":"y"}`, matches, matches},
		{`{argument: a, not_equals: x}`, `{"a":"x"}`, not, not},
		{`{argument: a, not_equals: x}`, `{"a":["x","y"]}`, matches, not},
		{`{argument: a, not_equals: x}`, `{}`, matches, not},
		{`{argument: a, contains: "b"}`, `{"a":"abc"}`, matches, matches},
		{`{argument: a, contains: "b"}`, `{"a":"\u0061\u0062"}`, matches, matches},
		{`{argument: a, contains: "b"}`, `{"a":7}`, matches, not},
		{`{argument: a, not_contains: "b"}`, `{"a":"x"}`, matches, matches},
		{`{argument: a, starts_with: "ab"}`, `{"a":"abc"}`, matches, matches},
		{`{argument: a, starts_with: "ab"}`, `{"a":"xab"}`, not, not},
		{`{argument: a, regex: "^a+$"}`, `{"a":"aaa"}`, matches, matches},
		{`{argument: a, regex: "^a+$"}`, `{"a":"AAA"}`, not, not},
		{`{argument: a, regex: "^a+$", ignore_case: true}`, `{"a":"AAA"}`, matches, matches},
		{`{argument: a, regex: "^1$"}`, `{"a":1}`, matches, not},
		{`{argument: a, in: [x, 2]}`, `{"a":2}`, matches, matches},
		{`{argument: a, in: [x, 2]}`, `{"a":"z"}`, not, not},
		{`{argument: a, in: [x, 2]}`, `{"a":true}`, matches, not},
		{`{argument: a, not_in: [x, 2]}`, `{"a":3}`, matches, matches},
		{`{argument: a, not_in: [x, 2]}`, `{"a":["x", 2]}`, not, not},
		{`{argument: a, exists: true}`, `{"a":null}`, matches, matches},
		{`{argument: a, exists: true}`, `{"b":1}`, not, not},
		{`{argument: a, exists: false}`, `{"b":1}`, matches, matches},
		{`{argument: a, exists: false}`, `{"a":1}`, not, not},
		{`{argument: a, gt: 5}`, `{"a":5.0000000000000000000001}`, matches, matches},
		{`{argument: a, gt: 5}`, `{"a":5}`, not, not},
		{`{argument: a, gt: 5}`, `{"a":1e400}`, matches, matches},
		{`{argument: a, gt: 5}`, `{"a":1e99999999999999999999}`, matches, matches},
		{`{argument: a, gt: 5}`, `{"a":-1e400}`, not, not},
		{`{argument: a, gt: 5}`, `{"a":1e` + strings.Repeat("9", 1_000_000) + `}`, matches, matches},
		{`{argument: a, lt: 5}`, `{"a":1e-` + strings.Repeat("9", 1_000_000) + `}`, matches, matches},
		{`{argument: a, equals: 100}`, `{"a":1e` + strings.Repeat("0", 1000) + `2}`, matches, matches},
		{`{argument: a, gt: 5}`, `{"a":"6"}`, matches, not},
		{`{argument: a, lt: -1}`, `{"a":-1.5}`, matches, matches},
		{`{argument: a, gt: 1, lt: 3}`, `{"a":2}`, matches, matches},
		{`{argument: a, gt: 1, lt: 3}`, `{"a":4}`, not, not},
		{`{argument: /a/b~1c/0, equals: x}`, `{"a":{"b/c":["x"]}}`, matches, matches},
		{`{argument: a.b.1, equals: x}`, `{"a":{"b":["y","x"]}}`, matches, matches},
		{`{argument: a.b.01, equals: x}`, `{"a":{"b":["y","x"]}}`, matches, not},
		{`{argument: a.*.c, equals: x}`, `{"a":[{"c":"y"},{"c":"x"}]}`, matches, not},
		{`{argument: '**.c', equals: x}`, `{"a":{"b":[{"c":"x"}]}}`, matches, matches},
		{`{argument: '**.c', equals: x}`, `{"c":"x"}`, matches, matches},
		{`{argument: '**.c', equals: x}`, `{"d":"x"}`, not, not},
		{`{argument: '**', regex: "AKIA[0-9A-Z]{16}"}`, `{"a":[{"b":"x AKIA0123456789ABCDEF"}]}`, matches, not},
		{`{argument: '**', regex: "AKIA[0-9A-Z]{16}"}`, `{"a":{"AKIA0123456789ABCDEF":1}}`, matches, not},
		{`{argument: '**', regex: "^4[0-9]{15}$"}`, `{"a":4111111111111111}`, matches, not},
		{`{argument: '**', regex: x}`, `{}`, not, not},
		{`{argument: '**', gt: 10}`, `{"a":[1,"x",11]}`, matches, not},
		{`{argument: '**', as: host, inside: [10.0.0.0/8]}`, `{"not a host":"0xa000001"}`, matches, matches},
		{`{argument: a, contains: "secret", nfkc: true}`, `{"a":"\uff53ecret"}`, matches, matches},
		{`{argument: a, contains: "secret"}`, `{"a":"\uff53ecret"}`, not, not},
		{`{argument: a, as: path, inside: ["/srv/nothing"]}`, `{"a":"/srv/nothing/../nothing/x"}`, matches, matches},
		{`{argument: a, as: path, inside: ["/srv/nothing"]}`, `{"a":"/srv/nothing/%2e%2e/x"}`, matches, not},
		{`{argument: a, as: path, not_inside: ["/srv/nothing"]}`, `{"a":"/srv/nothing/%2e%2e/x"}`, matches, not},
		{`{argument: a, as: path, not_inside: ["/srv/nothing"]}`, `{"a":["/srv/nothing/x"]}`, not, not},
		{`{argument: a, as: path, not_inside: ["/srv/nothing"]}`, `{"a":{"b":1}}`, matches, not},
		{`{argument: a, as: path, not_inside: ["${PROJECT}"]}`, `{"a":"/srv/nothing"}`, matches, not},
		{`{argument: a, as: path, equals: /srv/nothing}`, `{"a":"//srv/./nothing/"}`, matches, matches},
		{`{argument: a, as: url, inside: ["https://example.org/api"]}`, `{"a":"https://example.org/api/x"}`, matches, matches},
		{`{argument: a, as: url, inside: ["https://example.org/api"]}`, `{"a":"https://example.org\\@evil.example/api"}`, matches, not},
		{`{argument: a, as: host, inside: [169.254.0.0/16]}`, `{"a":"http://[::ffff:a9fe:a9fe]/latest"}`, matches, matches},
		{`{argument: a, as: host, equals: example.org}`, `{"a":"EXAMPLE.org."}`, matches, matches},
		{`{argument: a, as: host, equals: example.org}`, `{"a":"a.example.org"}`, not, not},
		{`{argument: a, as: host, in: [127.0.0.1]}`, `{"a":"localhost"}`, matches, matches},
		{`{argument: a, as: shell, inside: [git]}`, `{"a":"git log"}`, matches, matches},
		{`{argument: a, as: shell, inside: [git]}`, `{"a":"git log; rm x"}`, matches, not},
		{`{argument: a, as: shell, inside: [git log]}`, `{"a":"git push"}`, not, not},
		{`{argument: a, as: shell, inside: [git]}`, `{"a":"/tmp/git log"}`, matches, not},
		{`{argument: a, as: shell, inside: [git]}`, `{"a":"git log > x"}`, matches, not},
		{`{argument: a, as: shell, inside: [rm]}`, `{"a":"r''m x"}`, matches, matches},
		{`{argument: a, as: shell, inside: [rm]}`, `{"a":"$(x)"}`, matches, not},
		{`{argument: a, as: shell, inside: [rm], ignore_case: true}`, `{"a":"RM x"}`, matches, matches},
		{`{argument: a, as: shell, inside: [find, grep]}`, `{"a":"find . -name x -exec grep -l y {} +"}`, matches, matches},
		{`{argument: a, as: shell, regex: '^rm .*-[a-z]*r'}`, `{"a":"sudo rm -fr /"}`, matches, not},
		{`{argument: a, as: sql, not_inside: [select]}`, `{"a":"SELECT 1"}`, not, not},
		{`{argument: a, as: sql, not_inside: [SELECT]}`, `{"a":"WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x"}`, matches, not},
		{`{argument: a, as: sql, inside: [SELECT]}`, `{"a":"SELECT 1; DROP TABLE t"}`, matches, not},
		{`{argument: a, as: sql, inside: [SELECT]}`, `{"a":"SELECT 1"}`, matches, matches},
		{`{argument: a, as: sql, contains: DROP TABLE}`, `{"a":"drop/**/table t"}`, matches, matches},
		{`{argument: a, as: sql, contains: 'drop  table'}`, `{"a":"DROP/**/TABLE t"}`, matches, matches},
		{`{argument: a, as: sql, contains: 'a=1'}`, `{"a":"SELECT 1 WHERE A =1"}`, matches, matches},
		{`{argument: a, as: sql, regex: '^delete from t$'}`, `{"a":"Delete From t"}`, matches, matches},
		{`{argument: a, as: host, contains: EVIL}`, `{"a":"evil.example"}`, matches, matches},
		{`{argument: a, as: shell, contains: 'rm  -rf'}`, `{"a":"rm '-rf' x"}`, matches, matches},
		{`{argument: a, as: sql, unbounded_select: true}`, `{"a":"SELECT * FROM t"}`, matches, matches},
		{`{argument: a, as: sql, unbounded_select: true}`, `{"a":"SELECT * FROM t LIMIT 1000"}`, not, not},
		{`{argument: a, as: sql, unbounded_select: 10}`, `{"a":"SELECT * FROM t LIMIT 1000"}`, matches, matches},
		{`{argument: a, as: sql, unbounded_select: true}`, `{"a":"SELECT * FROM t # LIMIT 5"}`, matches, not},
	} {
		for action, want := range map[string]bool{"block": c.deny, "allow": c.allow} {
			set := compile(t, Environment{}, rule(action, c.condition))
			call := Call{Method: ToolsCall, Server: "s", Name: "t"}
			if c.arguments != "" {
				call.Arguments = []byte(c.arguments)
			}
			_, steps := set.Explain(call)
			if steps[0].Matched != want {
				t.Errorf("%s %s on %s: matches %v (%s)", action, c.condition, c.arguments, steps[0].Matched, steps[0].Why)
			}
		}
	}
}

func TestTheMostSevereRuleWins(t *testing.T) {
	for _, c := range []struct {
		actions string // of the rules that match, in order, behind the default
		want    Action
		rule    string
	}{
		{"allow", Allow, ""}, {"block", Block, ""}, {"allow_with_approval", Ask, ""},
		{"allow block allow", Block, "1"}, {"allow allow block", Block, "2"}, {"block allow", Allow, "1"}, {"block log", Block, ""}, {"block log allow", Log, "1"},
		{"allow log", Log, "1"}, {"allow log allow_with_approval", Ask, "2"}, {"block allow_with_approval allow", Ask, "1"}, {"allow block allow_with_approval", Block, "1"},
	} {
		words := strings.Fields(c.actions)
		text := "default: " + words[0] + "\nrules:\n"
		for i, a := range words[1:] {
			text += fmt.Sprintf("  - {name: '%d', action: %s}\n", i+1, a)
		}
		d := compile(t, Environment{}, text).Decide(Call{Method: ToolsCall, Name: "t"})
		if d.Action != c.want || d.Rule != c.rule {
			t.Errorf("%s: %v by %q, want %v by %q", c.actions, d.Action, d.Rule, c.want, c.rule)
		}
	}
}

func TestASecondFileTightensAndNeverLoosens(t *testing.T) {
	actions := []string{"allow", "allow_with_approval", "block"}
	texts := []string{}
	for _, standard := range actions {
		texts = append(texts, "default: "+standard)
		for _, action := range []string{"allow", "log", "allow_with_approval", "block"} {
			texts = append(texts, fmt.Sprintf("default: %s\nrules: [{name: r, action: %s}]\n", standard, action))
		}
	}
	call := Call{Method: ToolsCall, Name: "t"}
	for _, machine := range texts {
		for _, user := range texts {
			alone := compile(t, Environment{}, machine)
			own := compile(t, Environment{}, user)
			both := NewSet(Environment{}, alone.Policies[0], own.Policies[0]).Decide(call)
			if want := max(alone.Decide(call).Action, own.Decide(call).Action); both.Action != want {
				t.Errorf("%q and %q: %v, want %v", machine, user, both.Action, want)
			}
		}
	}
}

func TestWhichCallsARuleIsAbout(t *testing.T) {
	for _, c := range []struct {
		rule string
		call Call
		want bool
	}{
		{"tools: ['fs:read_*']", Call{Server: "fs", Name: "read_file"}, true},
		{"tools: ['fs:read_*']", Call{Server: "fs2", Name: "read_file"}, false},
		{"tools: ['read_*']", Call{Server: "any", Name: "read_"}, true},
		{"tools: 'read_*'", Call{Server: "any", Name: "Read_x"}, false},
		{"tools: ['*:*_[a-c]?']", Call{Server: "x", Name: "t_bz"}, true},
		{"tools: ['*:*_[!a-c]?']", Call{Server: "x", Name: "t_bz"}, false},
		{"tools: ['[:]x:y']", Call{Server: ":x", Name: "y"}, true},
		{"tools: ['x:file:///etc/*']", Call{Method: ResourcesRead, Server: "x", Name: "file:///etc/passwd"}, true},
		{"tools: ['x:*']", Call{Method: Sampling, Server: "x"}, true},
		{"tools: ['x:*']", Call{Method: Elicitation, Server: "x"}, true},
		{"tools: ['p']", Call{Method: PromptsGet, Name: "p"}, true},
		{"methods: [prompts/get]", Call{Name: "p"}, false},
		{"methods: [tools/call, prompts/get]", Call{Name: "p"}, true},
		{"on: [result]", Call{Name: "p"}, false},
		{"on: result", Call{Name: "p", On: OnResult}, true},
		{"on: [call, result]", Call{Name: "p", On: OnCall}, true},
		{"tools: [a]", Call{Name: "p", On: OnResult}, false},
		{"when: 'call.annotations.destructiveHint == true'", Call{Annotations: []byte(`{}`)}, true},
		{"when: 'call.annotations.destructiveHint == true'", Call{Annotations: []byte(`{"destructiveHint":false}`)}, false},
		{"when: 'call.annotations.readOnlyHint'", Call{}, false},
		{"when: 'call.arguments.n > 3 && call.name.startsWith(\"t\")'", Call{Name: "t", Arguments: []byte(`{"n":4}`)}, true},
		{"when: 'call.arguments.missing == 1'", Call{Name: "t"}, true}, // cannot be told
		{"when: 'call.arguments.n == 1'", Call{Arguments: []byte(`{"n":18446744073709551617}`)}, true},
		{"when: 'call.arguments.n == 1'", Call{Arguments: []byte(`{"n":1,"n":2}`)}, true},
		{"when: 'call.arguments.l.all(a, call.arguments.l.all(b, call.arguments.l.all(c, a + b + c > 0)))'", Call{Arguments: []byte(`{"l":[` + strings.Repeat("1,", 500) + `1]}`)}, true},
	} {
		if c.call.Method == "" {
			c.call.Method = ToolsCall
		}
		d, steps := compile(t, Environment{}, "rules: [{name: r, action: block, "+c.rule+"}]").Explain(c.call)
		if steps[0].Matched != c.want || (d.Action == Block) != c.want {
			t.Errorf("%s on %v: %v (%s)", c.rule, c.call, steps[0].Matched, steps[0].Why)
		}
	}
	allowing := compile(t, Environment{}, "default: block\nrules: [{name: r, action: allow, when: 'call.arguments.missing == 1'}]")
	if d := allowing.Decide(Call{Method: ToolsCall}); d.Action != Block {
		t.Errorf("an expression that cannot be evaluated allows: %+v", d)
	}
}

func TestMatchAllAndAny(t *testing.T) {
	for _, c := range []struct {
		match, arguments string
		want             bool
	}{
		{"all", `{"a":1,"b":1}`, true}, {"all", `{"a":1,"b":2}`, false}, {"any", `{"a":2,"b":1}`, true}, {"any", `{"a":2,"b":2}`, false},
	} {
		set := compile(t, Environment{}, "rules: [{name: r, action: block, match: "+c.match+", conditions: [{argument: a, equals: 1}, {argument: b, equals: 1}]}]")
		if d := set.Decide(Call{Method: ToolsCall, Arguments: []byte(c.arguments)}); (d.Action == Block) != c.want {
			t.Errorf("%s of %s: %v", c.match, c.arguments, d.Action)
		}
	}
}

// The file of the first gateway, as it was written.
const original = `# Security policy
rules:
  - id: "R1"
    name: "Block unbounded SELECT"
    description: "Prevents data exfiltration"
    target_tool: "query*"
    target_argument: "query"
    match_type: "all"
    conditions:
      - operator: "contains"
        value: "select"
        ignore_case: true
      - operator: "not_contains"
        value: "LIMIT"
        ignore_case: true
    action: "block"
  - id: "R2"
    target_tool: "*"
    target_argument: "query"
    match_type: "any"
    conditions:
      - {operator: regex, value: "(?i)\\bDROP\\b"}
      - {operator: equals, value: "VACUUM"}
    action: "allow_with_approval"
  - {id: R3, target_tool: "admin_[!r]*"}
`

func TestThePolicyOfTheFirstGateway(t *testing.T) {
	set := compile(t, Environment{}, original)
	for _, c := range []struct {
		tool, arguments string
		want            Action
		rule            string
	}{
		{"query_db", `{"query":"SELECT * FROM t"}`, Block, "Block unbounded SELECT"},
		{"query_db", `{"query":"SELECT * FROM t limit 5"}`, Allow, ""},
		{"query_db", `{"nested":[{"query":"SELECT * FROM t"}]}`, Block, "Block unbounded SELECT"},
		{"query_db", `{"query":["SELECT * FROM t"]}`, Block, "Block unbounded SELECT"},
		{"query_db", `{"query":{"a":1}}`, Block, "Block unbounded SELECT"},
		{"query_db", `{"query":5}`, Block, "Block unbounded SELECT"},
		{"query_db", `{"sql":"SELECT * FROM t"}`, Allow, ""},
		{"other", `{"query":"drop table t"}`, Ask, "R2"},
		{"other", `{"query":"VACUUM"}`, Ask, "R2"},
		{"other", `{}`, Allow, ""},
		{"admin_write", `{}`, Block, "R3"},
		{"admin_read", `{}`, Allow, ""},
	} {
		d := set.Decide(Call{Method: ToolsCall, Server: "any", Name: c.tool, Arguments: []byte(c.arguments)})
		if d.Action != c.want || d.Rule != c.rule {
			t.Errorf("%s %s: %v by %q, want %v by %q", c.tool, c.arguments, d.Action, d.Rule, c.want, c.rule)
		}
	}
	p, err := Parse("p", []byte("rules:\n- {id: a, target_tool: 'x*', action: allow}\n- {id: b, target_tool: 'y', action: block}\n- {id: c, target_tool: '*z', action: block}\n- {id: d, target_tool: '*', action: log}\n"), Environment{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Problem{{File: "p", Line: 4, Text: `the rule "c" (block) wins over the rule "a" (allow) of line 2, which stands above it: the most severe rule decides, no longer the first that matches`}}
	if diff := cmp.Diff(want, p.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nrules: [*b,*b,*b,*b]\n"
	for _, c := range []struct{ text, want string }{
		{"rule: []", `guard.yaml:1:1: the file has no setting "rule"; it has default, environment, limits, record, record_values, rules, version`},
		{"version: 2", `1:10: the version is "2"`},
		{"default: log", `1:10: default is "log"; it may be allow, block, allow_with_approval`},
		{"default: allow\ndefault: block", `2:1: "default" is there twice`},
		{"rules: {}", "rules must be a list"},
		{"rules: [x]", "a rule must be a mapping"},
		{"rules: [{action: block}]", "the rule has no name"},
		{"rules: [{name: r}]", `the rule "r" has no action`},
		{"rules: [{name: 1, action: block}]", "name must be a text"},
		{"rules: [{name: r, action: deny}]", `action is "deny"; it may be block, allow, log, allow_with_approval`},
		{"rules: [{name: r, action: block, tool: x}]", `a rule has no setting "tool"`},
		{"rules: [{name: r, action: block, tools: ['a[b']}]", `a "[" in the pattern has no "]"`},
		{"rules: [{name: r, action: block, tools: ['[z-a]']}]", "runs backwards"},
		{"rules: [{name: r, action: block, tools: ['s:']}]", "a part of the pattern is empty"},
		{"rules: [{name: r, action: block, tools: []}]", "tools is empty"},
		{"rules: [{name: r, action: block, tools: [1]}]", "tools must be a text"},
		{"rules: [{name: r, action: block, match: some}]", `match is "some"`},
		{"rules: [{name: r, action: block, match: any}]", "matches any of its conditions and has none"},
		{"rules: [{name: r, action: block, on: [request]}]", `on is "request"`},
		{"rules: [{name: r, action: block, methods: [ping]}]", `methods is "ping"`},
		{"rules: [{name: r, action: block, when: 'call.'}]", "when: "},
		{"rules: [{name: r, action: block, when: '1 + 1'}]", "must be true or false"},
		{"rules: [{name: r, action: block, when: 'nobody == 1'}]", "undeclared reference"},
		{"rules: [{name: r, action: block}, {name: r, action: allow}]", `the rule "r" is there twice`},
		{"rules: [{name: r, action: block, target_tool: x, tools: [x]}]", `has no setting "tools"`},
		{"rules: [{id: r, conditions: [{operator: equals, value: x}]}]", "no target_argument"},
		{"rules: [{id: r, target_argument: a, conditions: [{operator: like, value: x}]}]", `operator is "like"`},
		{"rules: [{id: r, target_argument: a, conditions: [{operator: equals}]}]", "no value"},
		{rule("block", "{equals: x}"), "says not which argument"},
		{rule("block", "{argument: a}"), "no operator"},
		{rule("block", "{argument: a, like: x}"), `a condition has no setting "like"`},
		{rule("block", "{argument: a, regex: '(?!x)'}"), "regex: invalid or unsupported Perl syntax"},
		{rule("block", "{argument: a, regex: 12}"), "regex must be a text"},
		{rule("block", "{argument: a, contains: 0777}"), "contains must be a text"},
		{rule("block", "{argument: a, equals: 0777}"), `"0777" is not a value of JSON`},
		{rule("block", "{argument: a, equals: .inf}"), "is not a value of JSON"},
		{rule("block", "{argument: a, equals: 2026-01-01}"), "is not a value of JSON"},
		{rule("block", "{argument: a, equals: 1_000}"), "is not a value of JSON"},
		{rule("block", "{argument: a, gt: x}"), "gt must be a number"},
		{rule("block", "{argument: a, gt: 0x10}"), "gt must be a number"},
		{rule("block", "{argument: a, exists: yes}"), "exists must be true or false"},
		{rule("block", "{argument: a..b, equals: x}"), "a part of the dotted path is empty"},
		{rule("block", "{argument: /a~2, equals: x}"), "JSON Pointer"},
		{rule("block", "{argument: a, as: file, equals: x}"), `as is "file"`},
		{rule("block", "{argument: a, inside: [x]}"), "inside is no operator for as: text"},
		{rule("block", "{argument: a, as: path, inside: []}"), "inside is empty"},
		{rule("block", "{argument: a, as: path, inside: ['${WORK}']}"), "there is no variable ${WORK}"},
		{rule("block", "{argument: a, as: host, inside: ['a b']}"), "not readable as host"},
		{rule("block", "{argument: a, as: url, inside: [example.org]}"), "not readable as url"},
		{rule("block", "{argument: a, as: shell, inside: ['a; b']}"), "not readable as shell"},
		{rule("block", "{argument: a, as: sql, unbounded_select: false}"), "unbounded_select must be true"},
		{rule("block", "{argument: a, unbounded_select: true}"), "unbounded_select is no operator for as: text"},
		{"limits: {calls_per_minute: 0}", "calls_per_minute must be a whole number"},
		{"limits: {calls_per_minute: 1e3}", "calls_per_minute must be a whole number"},
		{"limits: {failure_ratio: 2}", "failure_ratio must be"},
		{"limits: {failure_ratio: 0}", "failure_ratio must be"},
		{"limits: {timeout_seconds: 86401}", "timeout_seconds must be a whole number from 1 to 86400"},
		{"limits: {message_bytes: -1}", "message_bytes must be a whole number from 1 to 1073741824"},
		{"limits: {result_bytes: 1 MB}", "result_bytes must be a whole number"},
		{"limits: {per_tool: {x: 1, x: 2}}", `"x" is there twice`},
		{"limits: {per_tool: {'a[': 1}}", `a "[" in the pattern`},
		{"limits: {calls: 1}", `limits has no setting "calls"`},
		{"rules:\n\t- x", "guard.yaml:2: "},
		{"a: [", "guard.yaml:"},
		{"--- \nrules: []\n---\nrules: []\n", "more than one YAML document"},
		{"default: *x", "unknown anchor"},
		{"x: &x allow\ndefault: *x", "2:10: aliases are not read"},
		{bomb, "a rule must be a mapping"},
		{"\x00", "guard.yaml"},
		{strings.Repeat("# twenty megabytes of nothing\n", 700_000), "larger than 4096 KiB"},
	} {
		p, err := Parse("guard.yaml", []byte(c.text), Environment{Project: "/p"})
		var wrong Problems
		if p != nil || !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "~", "rules:\n", "version: '1'", "version: 1.0\nenvironment: minimal\n"} {
		if p, err := Parse("p", []byte(text), Environment{}); err != nil || p.Default != Allow {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOneFileIsEnoughForAMinimalEnvironment(t *testing.T) {
	env := Environment{}
	inherit, minimal := compile(t, env, "environment: inherit").Policies[0], compile(t, env, "environment: minimal").Policies[0]
	for want, policies := range map[bool][]*Policy{true: {minimal, inherit}, false: {inherit, inherit}} {
		if got := NewSet(env, policies...).MinimalEnvironment(); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if !NewSet(env, inherit, minimal).MinimalEnvironment() {
		t.Error("the user's file does not tighten that of the machine")
	}
	_, err := Parse("p", []byte("version: 1\nenvironment: none"), env)
	if err == nil || err.Error() != `p:2:14: environment is "none"; it may be inherit, minimal` {
		t.Error(err)
	}
}

func TestValuesAreRecordedIfAFileAsksAndNoneForbids(t *testing.T) {
	env := Environment{}
	silent, yes, no := compile(t, env, "version: 1").Policies[0], compile(t, env, "record_values: true").Policies[0], compile(t, env, "record_values: false").Policies[0]
	for _, c := range []struct {
		files []*Policy
		want  bool
	}{{nil, false}, {[]*Policy{silent}, false}, {[]*Policy{yes}, true}, {[]*Policy{silent, yes}, true}, {[]*Policy{no, yes}, false}, {[]*Policy{yes, no}, false}} {
		if got := NewSet(env, c.files...).RecordValues(); got != c.want {
			t.Errorf("%d files: %v, want %v", len(c.files), got, c.want)
		}
	}
}

// What cannot be recorded passes only when the machine's file says so, where there is one.
func TestAUserLoosensTheRecordOnlyWhereTheMachineDoes(t *testing.T) {
	for _, c := range []struct {
		machine, user string // "none": there is no such file
		want          bool
	}{
		{"none", "none", true}, {"none", "", true}, {"none", "record: best_effort", false}, {"none", "record: required", true}, {"", "record: best_effort", true}, {"record: required", "record: best_effort", true},
		{"record: best_effort", "", false}, {"record: best_effort", "record: required", true}, {"record: best_effort", "none", false},
	} {
		var policies []*Policy
		for file, text := range map[string]string{MachineFile: c.machine, "own": c.user} {
			if text == "none" {
				continue
			}
			p, err := Parse(file, []byte(text), Environment{})
			if err != nil {
				t.Fatal(err)
			}
			policies = append(policies, p)
		}
		if got := NewSet(Environment{}, policies...).RecordRequired(); got != c.want {
			t.Errorf("%q and %q: required %v", c.machine, c.user, got)
		}
	}
}

func TestLimits(t *testing.T) {
	p, err := Parse("p", []byte("limits: {calls_per_minute: 100, per_tool: {'*:send_*': 5, 'x:y': 7}, concurrency: 8, failure_ratio: 0.5}"), Environment{})
	if err != nil {
		t.Fatal(err)
	}
	l := p.Limits
	if l.CallsPerMinute != 100 || l.Concurrency != 8 || l.FailureRatio != 0.5 || len(l.PerTool) != 2 || l.PerTool[0].CallsPerMinute != 5 {
		t.Errorf("%+v", l)
	}
	if !l.PerTool[0].For("mail", "send_all") || l.PerTool[1].For("x", "z") {
		t.Error("the limits are those of other tools")
	}
}

func TestTheTightestLimitsHold(t *testing.T) {
	a := compile(t, Environment{}, "limits: {calls_per_minute: 100, concurrency: 8, per_tool: {x: 1}, timeout_seconds: 9, message_bytes: 5, result_bytes: 7}").Policies[0]
	b := compile(t, Environment{}, "limits: {calls_per_minute: 200, concurrency: 4, failure_ratio: 0.5, per_tool: {y: 2}, timeout_seconds: 5, result_bytes: 6}").Policies[0]
	for _, l := range []Limits{NewSet(Environment{}, a, b).Limits(), NewSet(Environment{}, b, a).Limits()} {
		if l.CallsPerMinute != 100 || l.Concurrency != 4 || l.FailureRatio != 0.5 || len(l.PerTool) != 2 || l.TimeoutSeconds != 5 || l.MessageBytes != 5 || l.ResultBytes != 6 {
			t.Errorf("%+v", l)
		}
	}
}

// What was let through comes back, unless a rule is about results.
func TestTheDefaultIsAboutCalls(t *testing.T) {
	set := compile(t, Environment{}, "default: block\nrules: [{name: r, tools: [t], action: allow}, {name: s, on: result, conditions: [{argument: '**', contains: secret}], action: block}]")
	for result, want := range map[string]Action{`{"a":"fine"}`: Allow, `{"a":"secret"}`: Block} {
		if d := set.Decide(Call{Method: ToolsCall, Name: "t", On: OnResult, Arguments: []byte(result)}); d.Action != want {
			t.Errorf("the result %s: %+v", result, d)
		}
	}
	if d := set.Decide(Call{Method: ToolsCall, Name: "other"}); d.Action != Block {
		t.Errorf("another tool: %+v", d)
	}
}

func TestTenThousandRules(t *testing.T) {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "  - name: rule-%d\n    tools: ['server-%d:tool_*']\n    conditions: [{argument: path, as: path, not_inside: ['${PROJECT}']}]\n    action: block\n", i, i)
	}
	set := compile(t, Environment{Project: "/p"}, b.String())
	if d := set.Decide(Call{Method: ToolsCall, Server: "server-9999", Name: "tool_x", Arguments: []byte(`{"path":"/etc"}`)}); d.Rule != "rule-9999" {
		t.Errorf("%+v", d)
	}
}

func TestFilesOnDisk(t *testing.T) {
	dir := t.TempDir()
	machine, user := filepath.Join(dir, "machine.yaml"), filepath.Join(dir, "user.yaml")
	sources := []Source{{Path: machine}, {Path: user}}
	call := Call{Method: ToolsCall, Name: "t"}
	if set, err := Load(Environment{}, sources...); err != nil || set.Decide(call).Action != Allow {
		t.Errorf("without files: %v", err)
	}
	if _, err := Load(Environment{}, Source{Path: user, Required: true}); err == nil || !strings.Contains(err.Error(), "user.yaml: it cannot be read") {
		t.Errorf("a file that somebody named and is not there: %v", err)
	}
	write(t, machine, "default: block")
	write(t, user, "default: allow")
	if set, err := Load(Environment{}, sources...); err != nil || set.Decide(call).Action != Block {
		t.Errorf("the file of the user loosens: %v", err)
	}
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink(machine, link); err != nil {
		t.Fatal(err)
	}
	if set, err := Load(Environment{}, Source{Path: link}); err != nil || set.Decide(call).Action != Block {
		t.Errorf("a link: %v", err)
	}
	for name, make := range map[string]func(path string) error{
		"can be written by others": func(path string) error { write(t, path, ""); return os.Chmod(path, 0o666) },
		"not a regular file":       func(path string) error { return os.Mkdir(path, 0o700) },
		"larger than":              func(path string) error { write(t, path, strings.Repeat("#", maxFile<<10+1)); return nil },
	} {
		path := filepath.Join(dir, "bad.yaml")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Environment{}, Source{Path: path}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReloadKeepsTheLastGoodRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.yaml")
	call := Call{Method: ToolsCall, Name: "t"}
	write(t, path, "rules: [{name: one, action: block}]")
	live, err := Open(Environment{}, Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"rules: [", "rules: [{name: two, action: shut}]"} {
		write(t, path, bad)
		if err := live.Reload(); err == nil || live.Current().Decide(call).Rule != "one" {
			t.Errorf("%q: %v, decided by %q", bad, err, live.Current().Decide(call).Rule)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := live.Reload(); err == nil || !strings.Contains(err.Error(), "it is gone") || live.Current().Decide(call).Rule != "one" {
		t.Errorf("a file that is gone: %v", err)
	}
	write(t, path, "rules: [{name: three, action: block}]")
	if err := live.Reload(); err != nil || live.Current().Decide(call).Rule != "three" {
		t.Errorf("a good file: %v", err)
	}
	write(t, path, "rules: [")
	if _, err := Open(Environment{}, Source{Path: path}); err == nil {
		t.Error("a guard starts with rules that are wrong")
	}
}

func TestAChangeOfTheFileIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.yaml")
	call := Call{Method: ToolsCall, Name: "t"}
	synctest.Test(t, func(t *testing.T) {
		live, err := Open(Environment{}, Source{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		var told []error
		go live.Watch(t.Context(), func(err error) { told = append(told, err) })
		pass := func() {
			<-time.After(3 * interval)
			synctest.Wait()
		}
		pass()
		write(t, path, "rules: [{name: one, action: block}]")
		pass()
		write(t, path, "rules: [{name: one, action")
		pass()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		pass()
		pass()
		if len(told) != 3 || told[0] != nil || told[1] == nil || told[2] == nil || live.Current().Decide(call).Rule != "one" {
			t.Errorf("told %v, decided by %q", told, live.Current().Decide(call).Rule)
		}
	})
}

func TestAFileThatIsStillBeingWrittenIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "guard.yaml")
	synctest.Test(t, func(t *testing.T) {
		live, err := Open(Environment{}, Source{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		go live.Watch(t.Context(), func(error) { told++ })
		for i := range 40 {
			write(t, path, "rules: [{name: one, action"+strings.Repeat("#", i))
			<-time.After(interval / 2)
			synctest.Wait()
		}
		if told != 0 {
			t.Errorf("a file that changes all the time was read %d times", told)
		}
	})
}
