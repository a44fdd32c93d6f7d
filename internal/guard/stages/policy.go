// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"fmt"
	"strings"
	"sync"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// Bounds of what is remembered. The hints of further tools have MCP's defaults, and further tasks are of any
// tool.
const (
	maxAnnotated = 10_000
	maxTasks     = 10_000
	maxTaskID    = 1 << 10 // bytes
)

// rules judges calls, results, and what the server asks of the client's model and person, by the
// rules that settings has. Without rules it lets all pass.
func rules(settings Settings) stage.Stage {
	j := &ruleJudge{settings: settings, annotations: map[string][]byte{}, tasks: map[task]origin{}}
	return stage.Stage{Name: "policy", Judge: j.judge}
}

type ruleJudge struct {
	settings Settings

	mu          sync.Mutex
	annotations map[string][]byte // by tool, as the server listed it last
	tasks       map[task]origin
}

func (j *ruleJudge) judge(m *stage.Message) (stage.Verdict, error) {
	if j.settings.Rules == nil {
		return stage.Verdict{}, nil
	}
	set := j.settings.Rules.Current()
	var flags []string
	for _, c := range j.calls(m) {
		d := set.Decide(c)
		if d.Action > policy.Log {
			return stage.Blocked(refusal(c, d)), nil
		}
		for _, name := range d.Logged {
			flags = append(flags, "policy: "+name)
		}
	}
	if flags != nil {
		return stage.Verdict{Action: stage.Review, Flags: flags}, nil
	}
	return stage.Verdict{}, nil
}

// calls returns what of a message rules hold for: a request, or a result with what the server asks
// for in it (input_required).
func (j *ruleJudge) calls(m *stage.Message) []policy.Call {
	switch {
	case policy.Judges(m.Method):
		return []policy.Call{j.call(m.Method, m.Params, m.Members)}
	case !m.Answer() || m.Call == nil:
		return nil
	case m.Call.Method == "tools/list":
		j.remember(m.Outcome)
		return nil
	case strings.HasPrefix(m.Call.Method, stage.TaskMethods):
		return append(j.outcome(m), j.asked(m.Outcome)...)
	case !policy.Judges(m.Call.Method):
		return nil
	}
	j.begun(m)
	return append([]policy.Call{j.result(m.Call.Method, m.Call.Name, m)}, j.asked(m.Outcome)...)
}

// result returns what came of a call as the rules see it.
func (j *ruleJudge) result(method, name string, m *stage.Message) policy.Call {
	c := policy.Call{Method: method, On: policy.OnResult, Server: j.settings.Server, Name: name, Arguments: m.Result, Annotations: j.of(method, name)}
	if m.Error != nil {
		c.Arguments = m.Error
	}
	return c
}

// A task stands for a call that is answered later, for who asked.
type task struct {
	answers stage.Side
	id      string
}

// An origin is the call that a task was begun by.
type origin struct{ method, name string }

// begun remembers of which call a task is.
func (j *ruleJudge) begun(m *stage.Message) {
	created, _ := jsonrpc.ParseObject(m.Outcome.Get("task"))
	for _, members := range []jsonrpc.Object{created, m.Outcome} { // MCP 2025-11-25, and later
		id, ok := jsonrpc.Text(members.Get("taskId"))
		j.mu.Lock()
		if ok && len(id) <= maxTaskID && len(j.tasks) < maxTasks {
			j.tasks[task{m.From, id}] = origin{m.Call.Method, m.Call.Name}
		}
		j.mu.Unlock()
	}
}

// outcome returns the result of a task, which stands in the answer to tasks/result, or in that to
// another of its methods once it is there. Of a task that nobody has seen begin it may be any tool's.
func (j *ruleJudge) outcome(m *stage.Message) []policy.Call {
	inner := m.Outcome.Get("result")
	if m.Call.Method != "tasks/result" && inner == nil {
		return nil
	}
	j.mu.Lock()
	of, known := j.tasks[task{m.From, m.Call.Name}]
	j.mu.Unlock()
	if !known {
		of.method = policy.ToolsCall
		if m.From == stage.Client {
			of.method = policy.Sampling
		}
	}
	c := j.result(of.method, of.name, m)
	if c.Unnamed = !known; m.Call.Method != "tasks/result" {
		c.Arguments = inner
	}
	return []policy.Call{c}
}

// call returns a request as the rules see it.
func (j *ruleJudge) call(method string, params []byte, members jsonrpc.Object) policy.Call {
	c := policy.Call{Method: method, Server: j.settings.Server, Name: stage.NameOf(method, members), Arguments: stage.ArgumentsOf(method, params, members)}
	c.Annotations = j.of(method, c.Name)
	return c
}

// asked returns the requests of the server that stand in a result (MCP 2026-07-28, inputRequests).
func (j *ruleJudge) asked(outcome jsonrpc.Object) (calls []policy.Call) {
	requests, _ := jsonrpc.ParseObject(outcome.Get("inputRequests"))
	for _, r := range requests {
		request, _ := jsonrpc.ParseObject(r.Value)
		method, _ := jsonrpc.Text(request.Get("method"))
		if policy.Judges(method) {
			params := request.Get("params")
			members, _ := jsonrpc.ParseObject(params)
			calls = append(calls, j.call(method, params, members))
		}
	}
	return calls
}

// remember keeps the annotations of the tools in a list. They come from the server, and hints that
// it changes later hold from then on.
func (j *ruleJudge) remember(list jsonrpc.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, tool := range jsonrpc.ParseArray(list.Get("tools")) {
		members, _ := jsonrpc.ParseObject(tool)
		name, ok := jsonrpc.Text(members.Get("name"))
		if ok && (len(j.annotations) < maxAnnotated || j.annotations[name] != nil) {
			j.annotations[name] = append([]byte(nil), members.Get("annotations")...)
		}
	}
}

// of returns the annotations of a tool, nil when there are none.
func (j *ruleJudge) of(method, name string) []byte {
	if method != policy.ToolsCall {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.annotations[name]; len(known) > 0 {
		return known
	}
	return nil
}

// refusal says which rule does not let a call pass, and what may be done instead.
func refusal(c policy.Call, d policy.Decision) stage.Refusal {
	r := stage.Refusal{Code: stage.PolicyBlocks, Rule: d.Rule, Hints: d.Hints}
	if d.Action == policy.Ask {
		r.Code = stage.NoApprover
	}
	what := "This call"
	if c.On == policy.OnResult {
		what = "The result of this call"
	}
	switch {
	case d.Rule == "":
		r.Rule = "default"
		r.Reason = what + " is not among what the user's rules allow."
	case d.Action == policy.Ask:
		r.Reason = fmt.Sprintf("%s needs a person's approval (rule %q), and nobody can be asked here.", what, d.Rule)
	case d.Unreadable != "":
		r.Reason = fmt.Sprintf("%s is not allowed by the rule %q, because %s.", what, d.Rule, d.Unreadable)
	default:
		r.Reason = fmt.Sprintf("%s is not allowed by the user's rule %q.", what, d.Rule)
	}
	if r.Fix = d.Reason; r.Fix == "" {
		r.Fix = "Tell the user; do not try to reach the same in another way."
	}
	return r
}
