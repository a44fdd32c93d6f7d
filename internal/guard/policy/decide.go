// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	"sentinel/internal/guard/policy/expression"
	"sentinel/internal/guard/stage"
)

// A Decision is what the rules say of a call.
type Decision struct {
	Action Action `json:"action"`
	Rule   string `json:"rule,omitempty"` // that decided; "" when none did
	File   string `json:"file,omitempty"` // that the rule stands in
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason,omitempty"` // of the rule, for who is refused

	// Unreadable says that the rule matched because something in the call cannot be read in
	// one way, and why.
	Unreadable string `json:"unreadable,omitempty"`

	// Hints are those of the tool, where the rule that decided looks at them.
	Hints *stage.Hints `json:"hints,omitempty"`

	// Logged names the rules that want the call recorded.
	Logged []string `json:"logged,omitempty"`
}

// A Step is what one rule said of a call.
type Step struct {
	Rule    string `json:"rule"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Action  Action `json:"action"`
	Matched bool   `json:"matched"`
	Why     string `json:"why"`
}

// A Set is the files of rules that hold together: for a call the most severe of what they say. It
// is not changed once it is made, and may be used by many at once.
type Set struct {
	Policies []*Policy // first that of the machine
	env      Environment
}

// NewSet returns the set of policies, which values are read for as env says.
func NewSet(env Environment, policies ...*Policy) *Set { return &Set{policies, env} }

// Limits returns the tightest limits of all files; of those for tools each holds.
func (s *Set) Limits() Limits {
	var l Limits
	for _, p := range s.Policies {
		l.CallsPerMinute = tightest(l.CallsPerMinute, p.Limits.CallsPerMinute)
		l.Concurrency = tightest(l.Concurrency, p.Limits.Concurrency)
		l.FailureRatio = tightest(l.FailureRatio, p.Limits.FailureRatio)
		l.TimeoutSeconds = tightest(l.TimeoutSeconds, p.Limits.TimeoutSeconds)
		l.MessageBytes = tightest(l.MessageBytes, p.Limits.MessageBytes)
		l.ResultBytes = tightest(l.ResultBytes, p.Limits.ResultBytes)
		l.PerTool = append(l.PerTool, p.Limits.PerTool...)
	}
	return l
}

// MinimalEnvironment says that servers get no more variables than they need; one file is enough.
func (s *Set) MinimalEnvironment() bool {
	return slices.ContainsFunc(s.Policies, func(p *Policy) bool { return p.MinimalEnvironment })
}

// RecordRequired says that a call is refused which cannot be recorded: unless the machine's file says
// otherwise, or another where there is none, and as soon as one asks for it.
func (s *Set) RecordRequired() bool {
	lenient := false
	for _, p := range s.Policies {
		switch {
		case p.Record == RecordRequired, p.File == MachineFile && p.Record == "":
			return true
		case p.Record == RecordBestEffort:
			lenient = true
		}
	}
	return !lenient
}

// RecordValues says that the record keeps arguments and results: a file asks for it, and none forbids it.
func (s *Set) RecordValues() bool {
	asked := false
	for _, p := range s.Policies {
		if p.Values != nil && !*p.Values {
			return false
		}
		asked = asked || p.Values != nil
	}
	return asked
}

// tightest returns the smaller of two limits, of which 0 is none.
func tightest[T int | float64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Decide judges a call. Without a file everything is allowed.
func (s *Set) Decide(c Call) Decision { return s.decide(c, nil) }

// Explain judges a call and returns what each rule said of it.
func (s *Set) Explain(c Call) (Decision, []Step) {
	steps := []Step{}
	return s.decide(c, &steps), steps
}

func (s *Set) decide(c Call, steps *[]Step) Decision {
	j := judge{env: s.env, call: &c, explains: steps != nil}
	most := Decision{Action: Allow}
	var logged []string
	for i, p := range s.Policies {
		d, err := j.policy(p, steps)
		if err != nil {
			return Decision{Action: Block, File: p.File, Reason: "It is too large for the rules to be evaluated.", Unreadable: err.Error()}
		}
		logged = append(logged, d.Logged...)
		if i == 0 || d.Action > most.Action {
			most = d
		}
	}
	most.Logged = logged
	return most
}

// policy judges the call by one file. A rule that logs decides nothing: the file's default still
// holds.
func (j *judge) policy(p *Policy, steps *[]Step) (Decision, error) {
	decided, logged := Decision{}, Decision{}
	var names []string
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.concerns(j.call) {
			note(steps, p, r, answer{why: "it is about other tools or methods"})
			continue
		}
		a, err := j.rule(r)
		if err != nil {
			return Decision{}, err
		}
		note(steps, p, r, a)
		if !a.so {
			continue
		}
		d := Decision{Action: r.Action, Rule: r.Name, File: p.File, Line: r.Line, Reason: r.Reason}
		if a.unreadable {
			d.Unreadable = a.why
		}
		if r.when != nil && r.when.Hints {
			h := expression.HintsOf(j.call.Annotations)
			d.Hints = &h
		}
		switch {
		case r.Action == Log:
			names = append(names, r.Name)
			logged = d
		case r.Action > decided.Action:
			decided = d
		}
	}
	switch {
	case decided.Action != 0:
	case j.call.side() == OnResult: // the call was let through, and so is what comes of it
		decided = Decision{Action: Allow, File: p.File}
	default:
		decided = Decision{Action: p.Default, File: p.File}
	}
	if decided.Action == Allow && logged.Action == Log {
		decided = logged
	}
	decided.Logged = names
	return decided, nil
}

func note(steps *[]Step, p *Policy, r *Rule, a answer) {
	if steps != nil {
		*steps = append(*steps, Step{r.Name, p.File, r.Line, r.Action, a.so, a.why})
	}
}

// rule says whether a rule that is about such calls matches this one.
func (j *judge) rule(r *Rule) (answer, error) {
	forbids := r.forbids()
	result := answer{so: !r.any, why: "it has no conditions"}
	for i := range r.conditions {
		a, err := j.condition(&r.conditions[i], forbids)
		if err != nil {
			return a, err
		}
		if a.so == r.any { // decides
			result = a
			break
		}
		a.unreadable = a.unreadable || result.unreadable && a.so
		result = a
	}
	if !result.so || r.when == nil {
		return result, nil
	}
	so, err := j.when(r.when)
	switch {
	case err != nil:
		return answer{forbids, forbids, "its expression cannot be evaluated: " + err.Error()}, nil
	case !so:
		return answer{why: "its expression is false"}, nil
	default:
		return result, nil
	}
}

// evaluated is the call as expressions see it, once for all rules.
type evaluated struct {
	values expression.Values
	err    error
}

func (j *judge) when(p *expression.Program) (bool, error) {
	if j.values == nil {
		values, err := expression.Of(j.call.expression())
		j.values = &evaluated{values, err}
	}
	if j.values.err != nil {
		return false, j.values.err
	}
	return p.True(j.values.values)
}

// Sentence says why a call is refused, for who asked for it.
func (d Decision) Sentence() string {
	switch {
	case d.Rule == "" && d.Reason == "" && d.Action == Ask:
		return "The policy lets nothing like this through without a person's approval."
	case d.Rule == "" && d.Reason == "":
		return "No rule of the policy allows it."
	case d.Reason != "":
		return d.Reason
	case d.Unreadable != "":
		return fmt.Sprintf("The rule %q cannot tell what it would do: %s.", d.Rule, d.Unreadable)
	default:
		return fmt.Sprintf("The rule %q of the policy forbids it.", d.Rule)
	}
}
