// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"sentinel/internal/answer"
	"sentinel/internal/firewall"
)

// A disableDocument answers disable_firewall.
type disableDocument struct {
	answer.Header
	firewall.Disablement
	record
}

func planDisableFirewall(ctx context.Context, s session, call invocation) (change, error) {
	confirm := call.args.Bool("confirm")
	plan, err := firewall.PlanDisable(ctx, s.host.Firewall, s.host.FirewallManager, firewall.DisableOptions{
		Force: call.force, Confirm: confirm, Trials: s.firewallTrials(),
	})
	if err != nil {
		return change{}, err
	}
	done := func(ctx context.Context) (*disableDocument, error) {
		result, err := plan.Do(ctx)
		if err != nil {
			return nil, err
		}
		d := &disableDocument{answer.NewHeader(call.op.Action, true), result, record{}}
		call.shorten(d, usualAnswer-journalRoom)
		return d, nil
	}
	if plan.Idle() && !call.dryRun {
		d, err := done(ctx)
		return change{already: d}, err
	}
	object := map[string]any{"manager": plan.Preview().Manager, "force": call.force, "confirm": confirm}
	c := change{
		object:  object,
		bound:   []any{object, plan.TakesBack()},
		would:   plan.Summary(),
		idle:    plan.Idle(),
		preview: &disablePreview{plan.Preview()},
		do:      func(ctx context.Context) (changed, error) { return done(ctx) },
	}
	if !confirm && !plan.Idle() {
		c.question = "Switch the firewall off?"
	}
	return c, nil
}

func (d *disableDocument) advise(f func(string) string) document {
	d.Details = f(d.Details)
	return d
}

func (d *disableDocument) outcome() string { return d.Details }

func (d *disableDocument) view(p *page) {
	p.verdict(toneOfTrial(d.ConfirmWithin), "FIREWALL "+d.FirewallStatus, d.Details)
	p.exposes(d.Disablement, "can reach now")
	p.gaps(d.Unavailable)
}

// exposes lists what other hosts reach without the firewall.
func (p *page) exposes(d firewall.Disablement, reach string) {
	p.listeners(servicesText(len(d.Exposes), d.ExposesTotal, reach), d.Exposes)
}

// A disablePreview is what disable_firewall would answer.
type disablePreview struct{ firewall.Disablement }

func (d disablePreview) explain(p *page) { p.exposes(d.Disablement, "could reach") }
