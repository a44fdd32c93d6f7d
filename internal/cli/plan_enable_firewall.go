// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/firewall"
)

// An enableDocument answers enable_firewall.
type enableDocument struct {
	answer.Header
	firewall.Enabled
	record
}

func planFirewall(ctx context.Context, s session, call invocation) (change, error) {
	plan, err := firewall.PlanEnable(ctx, s.host.Firewall, s.host.FirewallManager, firewall.EnableOptions{
		Force: call.force, Confirm: call.args.Bool("confirm"), Trials: s.firewallTrials(),
	})
	if err != nil {
		return change{}, err
	}
	if plan.Idle() && !call.dryRun {
		done, err := plan.Do(ctx)
		return change{already: &enableDocument{answer.NewHeader(call.op.Action, true), done, record{}}}, err
	}
	preview := plan.Preview()
	return change{
		object:  map[string]any{"manager": preview.Manager, "allowed_ports": strings.Join(portTexts(preview.AllowedPorts), " "), "force": call.force, "confirm": call.args.Bool("confirm")},
		would:   plan.Summary(),
		preview: enablePreview{Enabled: preview},
		do: func(ctx context.Context) (changed, error) {
			done, err := plan.Do(ctx)
			if err != nil {
				return nil, err
			}
			return &enableDocument{answer.NewHeader(call.op.Action, true), done, record{}}, nil
		},
	}, nil
}

// trialName is the record of a firewall on trial, in the directory of state.
const trialName = "firewall-trial.json"

func (s session) firewallTrials() firewall.Trials {
	return firewall.Trials{Path: filepath.Join(s.stateDir, trialName), Source: s.host.FirewallTrials, Program: s.binary}
}

func portTexts(ports []firewall.Port) []string {
	texts := []string{}
	for _, p := range ports {
		texts = append(texts, p.String())
	}
	return texts
}

func (d *enableDocument) outcome() string { return d.Details }

func (d *enableDocument) view(p *page) {
	tone := calm
	if d.ConfirmWithin > 0 {
		tone = warn
	}
	p.verdict(tone, "FIREWALL "+d.FirewallStatus, d.Details)
	p.closes(d.Enabled, "cannot reach any more")
	p.gaps(d.Unavailable)
}

// closes lists what a firewall shuts out.
func (p *page) closes(e firewall.Enabled, lost string) {
	var rows [][]string
	for _, l := range e.Closes {
		rows = append(rows, []string{l.String(), known(l.Process)})
	}
	heading := counted(len(rows), "service") + " that other hosts " + lost
	if len(rows) < e.ClosesTotal {
		heading = fmt.Sprintf("%d of %d services that other hosts %s", len(rows), e.ClosesTotal, lost)
	}
	p.table(heading, []column{{title: "port", whole: true}, {title: "process"}}, rows)
}

// An enablePreview is what enable_firewall would answer. Its sentence stands
// beside it already.
type enablePreview struct {
	firewall.Enabled
	Details string `json:"details,omitempty"`
}

func (e enablePreview) explain(p *page) { p.closes(e.Enabled, "could not reach any more") }
