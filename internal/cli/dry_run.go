// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// A dryDocument answers --dry-run.
type dryDocument struct {
	answer.Header
	DryRun  bool   `json:"dry_run"`
	Details string `json:"details"`
	// Preview is what the answer is expected to hold, where that is known.
	Preview any `json:"preview,omitempty"`
	// Asking is for a program that asks a person first.
	Asking *asking `json:"asking,omitempty"`
}

// An asking is what a program needs to know that asks a person before a change.
type asking struct {
	Policy   string `json:"policy"`             // policy.ask of the configuration
	Plan     string `json:"plan"`               // goes with the change, which is refused when it has become another
	Idle     bool   `json:"idle"`               // nothing would be changed, or sent where the configuration does not say
	Question string `json:"question,omitempty"` // for a person at a terminal
}

// advise leaves what a person is asked with in the words for people.
func (d dryDocument) advise(f func(string) string) document {
	if d.Asking == nil {
		d.Details = f(d.Details)
	}
	return d
}

func (d dryDocument) view(p *page) {
	p.verdict(calm, "DRY RUN", d.Details)
	p.line("Nothing was changed.")
	if e, ok := d.Preview.(explained); ok {
		e.explain(p)
	}
}

// plan checks a write. A dry run ends there, with an answer.
func (s session) plan(ctx context.Context, call invocation, plan planner) (change, document, error) {
	if !s.host.Live && call.op.Effect != ops.SendsOut {
		return change{}, nil, fault.New(fault.Unsupported, "Only the running system can be changed.")
	}
	c, err := plan(ctx, s, call)
	if err != nil {
		return change{}, nil, err
	}
	if err = s.agreed(call, c); err == nil && !call.dryRun {
		return c, nil, nil
	}
	if c.close != nil {
		c.close()
	}
	if err != nil {
		return change{}, nil, err
	}
	return change{}, s.dryRun(call, c), nil
}

func (s session) dryRun(call invocation, c change) dryDocument {
	d := dryDocument{Header: answer.NewHeader(call.op.Action, true), DryRun: true, Details: c.would, Preview: c.preview}
	if call.context.Asking {
		d.Asking = &asking{s.config.Policy.Ask, c.fingerprint(call.op), c.idle || c.named, c.question}
	}
	if p, ok := c.preview.(shortened); ok && call.request {
		fit(d, usualAnswer, p.Shorten)
	}
	return d
}

// agreed refuses a change that is not the one to which a person agreed, or for which a dry run said that
// nobody has to, and one that needs their agreement and does not have it. What is typed at a shell is a
// person's own; where there is nothing to do, and for what goes where the administrator said, nobody has to
// agree.
func (s session) agreed(call invocation, c change) error {
	switch plan := call.context.Plan; {
	case call.dryRun || !call.request || !call.op.Writes() || c.already != nil || c.named:
		return nil
	case plan != "" && plan != c.fingerprint(call.op):
		return planChanged(call)
	case s.config.Policy.Ask == config.AskRequired && call.context.Asked == "":
		return fault.New(fault.DisabledByPolicy, "policy.ask of this machine's configuration requires that a person agrees to "+call.op.Name+" first, and nobody was asked: the client cannot ask its user.").
			WithFix(askedFix(call.op))
	default:
		return nil
	}
}

func planChanged(call invocation) error {
	before := "the user agreed to"
	if call.context.Asked == "" {
		before = "a dry run said just before"
	}
	return fault.New(fault.PlanChanged, "What "+call.op.Name+" would do now is not what "+before+".")
}

// askedFix says how a change is made where a person has to agree.
func askedFix(op ops.Operation) string {
	return "Tell the user. They can use a client that lets servers ask its user (elicitation), run sentinel with --" + op.Flag + " themselves at a shell of this machine, or change policy.ask in /etc/sentinel/config.yaml."
}

// fingerprint identifies what c acts on, and how, and whether there is anything to do: who is told that there is
// not has agreed to nothing.
func (c change) fingerprint(op ops.Operation) string {
	bound := c.bound
	if bound == nil {
		bound = c.object
	}
	raw, err := json.Marshal([]any{op.Name, bound, c.idle})
	if err != nil {
		panic(fmt.Sprintf("cli: the object of %s is no JSON: %v", op.Name, err))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
