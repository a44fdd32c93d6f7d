// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/firewall"
)

// An allowDocument answers allow_service.
type allowDocument struct {
	answer.Header
	firewall.Allowed
	record
}

func planAllowService(ctx context.Context, s session, call invocation) (change, error) {
	ports, err := firewall.ParseServices(call.args.Text("services"))
	if err != nil {
		return change{}, err
	}
	confirm := call.args.Bool("confirm")
	plan, err := firewall.PlanAllow(ctx, s.host.Firewall, s.host.FirewallManager, firewall.AllowOptions{
		Ports: ports, Force: call.force, Confirm: confirm, Trials: s.firewallTrials(),
	})
	if err != nil {
		return change{}, err
	}
	done := func(ctx context.Context) (*allowDocument, error) {
		result, err := plan.Do(ctx)
		if err != nil {
			return nil, err
		}
		return &allowDocument{answer.NewHeader(call.op.Action, true), result, record{}}, nil
	}
	if plan.Idle() && !call.dryRun {
		d, err := done(ctx)
		return change{already: d}, err
	}
	c := change{
		object:  map[string]any{"services": strings.Join(portTexts(ports), " "), "manager": plan.Preview().Manager, "force": call.force, "confirm": confirm},
		would:   plan.Summary(),
		idle:    plan.Idle(),
		preview: allowPreview{plan.Preview()},
		do:      func(ctx context.Context) (changed, error) { return done(ctx) },
	}
	if !confirm && !plan.Idle() {
		c.question = "Let this in?"
	}
	return c, nil
}

func (d *allowDocument) advise(f func(string) string) document {
	d.Details = f(d.Details)
	return d
}

func (d *allowDocument) outcome() string { return d.Details }

func (d *allowDocument) view(p *page) {
	p.verdict(toneOfTrial(d.ConfirmWithin), "FIREWALL "+d.FirewallStatus, d.Details)
	p.gaps(d.Unavailable)
}

// An allowPreview is what allow_service would answer.
type allowPreview struct{ firewall.Allowed }

func (a allowPreview) explain(p *page) {
	p.listeners(counted(len(a.Services), "port")+" that other hosts could reach", a.Services)
}

// toneOfTrial warns while a trial is under way.
func toneOfTrial(confirmWithin int) tone {
	if confirmWithin > 0 {
		return warn
	}
	return calm
}
