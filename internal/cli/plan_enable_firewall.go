// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
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
	plan, err := firewall.PlanEnable(ctx, s.host.Firewall, s.host.Wall, firewall.EnableOptions{Force: call.force})
	if err != nil {
		return change{}, err
	}
	if plan.Idle() && !call.dryRun {
		done, err := plan.Do(ctx)
		return change{already: &enableDocument{answer.NewHeader(call.op.Action, true), done, record{}}}, err
	}
	preview := plan.Preview()
	return change{
		object:  map[string]any{"manager": preview.Manager, "allowed_ports": strings.Join(portTexts(preview.AllowedPorts), " "), "force": call.force},
		would:   plan.Summary(),
		preview: preview,
		do: func(ctx context.Context) (changed, error) {
			done, err := plan.Do(ctx)
			if err != nil {
				return nil, err
			}
			return &enableDocument{answer.NewHeader(call.op.Action, true), done, record{}}, nil
		},
	}, nil
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
	p.verdict(calm, "FIREWALL "+d.FirewallStatus, d.Details)
	var rows [][]string
	for _, l := range d.Closes {
		rows = append(rows, []string{l.String(), known(l.Process)})
	}
	heading := fmt.Sprintf("%d services that other hosts cannot reach any more", d.ClosesTotal)
	p.table(heading, []column{{title: "port"}, {title: "process"}}, rows)
	p.gaps(d.Unavailable)
}
