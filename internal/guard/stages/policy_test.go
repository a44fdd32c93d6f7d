// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// judged runs the stages with these rules for messages in turn and returns the verdict on the last.
func judged(t *testing.T, rules string, messages ...stage.Message) stage.Verdict {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	live, err := policy.Open(policy.Environment{Dir: "/srv/p", Project: "/srv/p"}, policy.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	all := All(Settings{Server: "s", Rules: live})
	var v stage.Verdict
	for i := range messages {
		v = stage.Run(all, &messages[i])
	}
	return v
}

func message(line string, call *stage.Call) stage.Message {
	f := jsonrpc.Parse([]byte(line))
	m := stage.Message{Message: &f.Messages[0], Call: call}
	if call != nil {
		m.From = stage.Server
	}
	return m
}

func TestRulesJudgeWhatIsPassedOn(t *testing.T) {
	noPath := "rules: [{name: r, tools: ['s:*'], conditions: [{argument: '**', contains: secret}], action: block, reason: 'Leave it out.'}]"
	onResult := strings.Replace(noPath, "action", "on: result, action", 1)
	destructive := "rules: [{name: r, methods: tools/call, when: call.annotations.destructiveHint, action: block}]"
	call := &stage.Call{Method: "tools/call", Name: "t"}
	listed := message(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","annotations":{"destructiveHint":false}}]}}`, &stage.Call{Method: "tools/list"})
	// A call that is answered with a task has its result later.
	const begun, ended = `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"T","status":"working"}}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"text":"secret"}]}}`
	result := func(id string) *stage.Call { return &stage.Call{Method: "tasks/result", Name: id} }
	for name, test := range map[string]struct {
		rules    string
		messages []stage.Message
		code     stage.Code // "" when it passes
		reason   string
	}{
		"a call":                      {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"secret"}}}`, nil)}, stage.PolicyBlocks, `This call is not allowed by the user's rule "r".`},
		"a call without an id":        {noPath, []stage.Message{message(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t","arguments":{"a":"secret"}}}`, nil)}, stage.PolicyBlocks, ""},
		"a call that is fine":         {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"b"}}}`, nil)}, "", ""},
		"a prompt":                    {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"t","arguments":{"a":"secret"}}}`, nil)}, stage.PolicyBlocks, ""},
		"a resource":                  {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:secret"}}`, nil)}, stage.PolicyBlocks, ""},
		"sampling":                    {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[{"content":{"text":"secret"}}]}}`, &stage.Call{Method: "sampling/createMessage"})}, stage.PolicyBlocks, ""},
		"elicitation":                 {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"secret"}}`, &stage.Call{Method: "elicitation/create"})}, stage.PolicyBlocks, ""},
		"elicitation in a result":     {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"secret"}}}}}`, call)}, stage.PolicyBlocks, ""},
		"another method":              {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"x/secret","params":{"a":"secret"}}`, nil)}, "", ""},
		"a result, a rule for calls":  {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"secret"}]}}`, call)}, "", ""},
		"a result":                    {onResult, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"secret"}]}}`, call)}, stage.PolicyBlocks, "The result of this call"},
		"an error":                    {onResult, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"secret"}}`, call)}, stage.PolicyBlocks, "The result of this call"},
		"a task":                      {onResult, []stage.Message{message(begun, call), message(ended, result("T"))}, stage.PolicyBlocks, "The result of this call"},
		"a task of another tool":      {strings.Replace(onResult, "s:*", "s:u", 1), []stage.Message{message(begun, call), message(ended, result("T"))}, "", ""},
		"a task of who knows what":    {strings.Replace(onResult, "s:*", "s:u", 1), []stage.Message{message(ended, result("U"))}, stage.PolicyBlocks, ""},
		"a task of another server":    {strings.Replace(onResult, "s:*", "x:*", 1), []stage.Message{message(ended, result("U"))}, "", ""},
		"a task, its result within":   {onResult, []stage.Message{message(`{"jsonrpc":"2.0","id":2,"result":{"taskId":"T","status":"completed","result":{"content":[{"text":"secret"}]}}}`, &stage.Call{Method: "tasks/get", Name: "T"})}, stage.PolicyBlocks, ""},
		"a task that goes on":         {onResult, []stage.Message{message(`{"jsonrpc":"2.0","id":2,"result":{"taskId":"T","status":"working","statusMessage":"secret"}}`, &stage.Call{Method: "tasks/get", Name: "T"})}, "", ""},
		"a task that asks":            {noPath, []stage.Message{message(`{"jsonrpc":"2.0","id":2,"result":{"taskId":"T","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"secret"}}}}}`, &stage.Call{Method: "tasks/get", Name: "T"})}, stage.PolicyBlocks, ""},
		"a task that failed":          {onResult, []stage.Message{message(`{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"secret"}}`, result("T"))}, stage.PolicyBlocks, ""},
		"a hint that was not given":   {destructive, []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, nil)}, stage.PolicyBlocks, ""},
		"a hint that was given":       {destructive, []stage.Message{listed, message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, nil)}, "", ""},
		"a hint for another":          {destructive, []stage.Message{listed, message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"T"}}`, nil)}, stage.PolicyBlocks, ""},
		"the default":                 {"default: block", []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, nil)}, stage.PolicyBlocks, "not among what the user's rules allow"},
		"a person":                    {"rules: [{name: r, action: allow_with_approval}]", []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, nil)}, stage.NoApprover, "needs a person's approval"},
		"what cannot be read":         {"rules: [{name: r, action: block, conditions: [{argument: a, as: path, inside: [/etc]}]}]", []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":5}}}`, nil)}, stage.PolicyBlocks, `because "a" cannot be read as path`},
		"a list of tools with a rule": {"default: block", []stage.Message{listed}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := judged(t, test.rules, test.messages...)
			if v.Refusal.Code != test.code || (v.Action == stage.Block) != (test.code != "") || !strings.Contains(v.Refusal.Reason, test.reason) {
				t.Errorf("%+v", v)
			}
		})
	}
	// What decided is told: the hints, where the rule looks at them.
	for hints, rules := range map[stage.Hints]string{
		{Destructive: true, OpenWorld: true}: destructive,
		{ReadOnly: true, OpenWorld: true}:    "rules: [{name: r, when: call.annotations.readOnlyHint, action: block}]",
		{}:                                   "rules: [{name: r, action: block}]",
	} {
		messages := []stage.Message{message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, nil)}
		if hints.ReadOnly {
			messages = append([]stage.Message{message(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","annotations":{"readOnlyHint":true,"destructiveHint":false,"title":"T","idempotentHint":"x"}}]}}`, &stage.Call{Method: "tools/list"})}, messages...)
		}
		v := judged(t, rules, messages...)
		if got := v.Refusal.Hints; v.Action != stage.Block || (got == nil) != (hints == stage.Hints{}) || got != nil && *got != hints {
			t.Errorf("%s: %+v", rules, v)
		}
	}
	v := judged(t, "rules: [{name: l, action: log}]", message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, nil))
	if v.Action != stage.Review || len(v.Flags) != 1 || v.Flags[0] != "policy: l" {
		t.Errorf("%+v", v)
	}
}
