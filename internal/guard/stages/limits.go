// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"fmt"
	"sync"

	"sentinel/internal/guard/limits"
	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/stage"
)

// bounded holds calls to the limits of the rules. It stands behind them: what a rule refuses counts
// for nothing, and what a rule allows is counted like all else.
func bounded(settings Settings) stage.Stage {
	j := &limitJudge{settings: settings, counter: limits.New(settings.PerTool)}
	return stage.Stage{Name: "limits", Judge: j.judge, Ended: j.counter.Ended}
}

type limitJudge struct {
	settings Settings
	counter  *limits.Counter

	mu     sync.Mutex
	set    *policy.Set // that the limits are of
	limits policy.Limits
}

func (j *limitJudge) judge(m *stage.Message) (stage.Verdict, error) {
	l := j.current()
	if r, over := tooLarge(m, l); over {
		return stage.Blocked(r), nil
	}
	if m.Method == "notifications/progress" && m.From == stage.Server {
		j.counter.Progress()
	}
	if !counts(m) {
		return stage.Verdict{}, nil
	}
	if refusal, ok := j.counter.Admit(limits.Request{Call: m.Call, From: m.From, Server: j.settings.Server, Tool: tool(m)}, l); !ok {
		return stage.Blocked(refusal), nil
	}
	return stage.Verdict{}, nil
}

// current returns the limits of the rules in force.
func (j *limitJudge) current() policy.Limits {
	if j.settings.Rules == nil {
		return policy.Limits{}
	}
	set := j.settings.Rules.Current()
	j.mu.Lock()
	defer j.mu.Unlock()
	if set != j.set {
		j.set, j.limits = set, set.Limits()
	}
	return j.limits
}

// counts says that a message is a call: what the client has the server do, and what the server has
// the client's model or user do. These are the methods that rules judge.
func counts(m *stage.Message) bool {
	switch m.Method {
	case policy.Sampling, policy.Elicitation:
		return m.From == stage.Server
	default:
		return m.From == stage.Client && policy.Judges(m.Method)
	}
}

func tool(m *stage.Message) string {
	if m.Method != policy.ToolsCall {
		return ""
	}
	return stage.NameOf(m.Method, m.Members)
}

// tooLarge refuses what is longer than the limits say. That it passes later is not to be expected.
func tooLarge(m *stage.Message, l policy.Limits) (stage.Refusal, bool) {
	most, what, rule := l.MessageBytes, "message", "message_bytes"
	if m.Answer() {
		most, what, rule = l.ResultBytes, "result", "result_bytes"
	}
	if most == 0 || len(m.Raw) <= most {
		return stage.Refusal{}, false
	}
	return stage.Refusal{
		Code: stage.TooLarge, Rule: rule,
		Reason: fmt.Sprintf("The %s has %d bytes, and the user's rules let %d pass.", what, len(m.Raw), most),
		Fix:    "Ask for less at a time, or for a part of it.",
	}, true
}
