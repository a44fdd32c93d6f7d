// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/fault"
	"sentinel/internal/progress"
)

const (
	// DefaultLimit is how long one check may take.
	DefaultLimit = 5 * time.Second
	// TotalLimit is how long all of them together may take: MCP clients give up
	// after about a minute.
	TotalLimit = 40 * time.Second
	// workers is how many checks run at a time. Most wait for a disk or a program.
	workers = 4
)

// Options control an audit.
type Options struct {
	// Exempt holds the checks not to run, by ID, with the reason.
	Exempt map[string]string
	// State is the file that stores the verdicts for the next run. If it is "",
	// nothing is stored or compared.
	State string
	// Whole disables shortening of the report, and has all evidence that a check kept, up to 5,000 pieces.
	Whole bool
	// Brief leaves out what is well, but for its IDs, and what is said twice.
	Brief bool
}

// Run runs the checks of source and reports. The error is CONFIG_INVALID for an
// exemption that [CheckExempt] rejects, UNAVAILABLE if no check came to a verdict,
// or that of ctx.
func Run(ctx context.Context, source Source, o Options) (Report, error) {
	checks := source.Checks()
	if err := CheckExempt(checks, o.Exempt); err != nil {
		return Report{}, err
	}
	outcomes := runAll(ctx, checks, o.Exempt)
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	r := report(outcomes, o.evidence())
	if r.Evaluated == 0 {
		return Report{}, fault.New(fault.Unavailable, "No check of the audit came to a verdict.").
			WithFix("Run it as root, and see whether /etc can be read here.")
	}
	if o.State != "" {
		r.compareAndKeep(o.State, outcomes, time.Now())
	}
	if o.Brief {
		r.brief(outcomes)
	}
	switch {
	case o.Whole:
	case o.Brief:
		r.shorten(maxBrief, briefShortenings)
	default:
		r.shorten(maxAnswer, shortenings)
	}
	return r, nil
}

// evidence is how many pieces of it a check may show.
func (o Options) evidence() int {
	if o.Whole {
		return maxWhole
	}
	return maxEvidence
}

func runAll(ctx context.Context, checks []Check, exempt map[string]string) []outcome {
	ctx, cancel := context.WithTimeout(ctx, TotalLimit)
	defer cancel()
	outcomes := make([]outcome, len(checks))
	next := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				outcomes[i] = checks[i].outcome(ctx, exempt)
			}
		})
	}
	for i, c := range checks {
		progress.Say(ctx, 100*i/len(checks), fmt.Sprintf("checking %d of %d: %s", i+1, len(checks), c.Name))
		next <- i
	}
	close(next)
	all.Wait()
	return outcomes
}

func (c Check) outcome(ctx context.Context, exempt map[string]string) outcome {
	if reason, is := exempt[c.ID]; is {
		return outcome{About: c.About, Finding: NotApplicable(exempted + reason)}
	}
	if err := ctx.Err(); err != nil {
		return outcome{About: c.About, Finding: Unread("the check", err)}
	}
	limit := c.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	f, err := deadline.Call(ctx, limit, c.runRecovering)
	if err != nil {
		f = Unread("the check", err)
	}
	return outcome{About: c.About, Finding: f}
}

// runRecovering turns a panic of a check into an error, so that the other verdicts
// are not lost.
func (c Check) runRecovering(ctx context.Context) (f Finding, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("broke off with an error of its own: %v", r)
		}
	}()
	return c.Run(ctx), nil
}
