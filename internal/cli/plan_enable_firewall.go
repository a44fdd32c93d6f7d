// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
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
	keepOpen, err := keptOpen(call)
	if err != nil {
		return change{}, err
	}
	plan, err := firewall.PlanEnable(ctx, s.host.Firewall, s.host.FirewallManager, firewall.EnableOptions{
		Force: call.force, Confirm: call.args.Bool("confirm"), KeepOpen: keepOpen, Trials: s.firewallTrials(), Sessions: s.host.Sessions,
	})
	if err != nil {
		return change{}, err
	}
	if plan.Idle() && !call.dryRun {
		done, err := plan.Do(ctx)
		return change{already: &enableDocument{answer.NewHeader(call.op.Action, true), done, record{}}}, err
	}
	preview := plan.Preview()
	c := change{
		object:  map[string]any{"manager": preview.Manager, "allowed_ports": strings.Join(portTexts(preview.AllowedPorts), " "), "force": call.force, "confirm": call.args.Bool("confirm")},
		would:   plan.Summary(),
		idle:    plan.Idle(),
		preview: &enablePreview{Enabled: preview},
		do: func(ctx context.Context) (changed, error) {
			done, err := plan.Do(ctx)
			if err != nil {
				return nil, err
			}
			d := &enableDocument{answer.NewHeader(call.op.Action, true), done, record{}}
			call.shorten(d, usualAnswer-journalRoom)
			return d, nil
		},
	}
	if !call.args.Bool("confirm") && !plan.Idle() && plan.Preview().Changed {
		c.question = "Switch it on?"
	}
	return c, nil
}

// keptOpen reads the services that stay reachable.
func keptOpen(call invocation) ([]firewall.Port, error) {
	text := call.args.Text("keep_open")
	if text == "" {
		return nil, nil
	}
	return firewall.ParseServices(text)
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

func (d *enableDocument) advise(f func(string) string) document {
	d.Details = f(d.Details)
	return d
}

func (d *enableDocument) outcome() string { return d.Details }

func (d *enableDocument) view(p *page) {
	p.verdict(toneOfTrial(d.ConfirmWithin), "FIREWALL "+d.FirewallStatus, d.Details)
	p.closes(d.Enabled, "cannot reach any more")
	p.gaps(d.Unavailable)
}

// closes lists what a firewall shuts out.
func (p *page) closes(e firewall.Enabled, lost string) {
	p.listeners(servicesText(len(e.Closes), e.ClosesTotal, lost), e.Closes)
}

// servicesText is the heading of a list of services that other hosts reach or do not.
func servicesText(shown, total int, reach string) string {
	if shown < total {
		return fmt.Sprintf("%d of %d services that other hosts %s", shown, total, reach)
	}
	return counted(shown, "service") + " that other hosts " + reach
}

// listeners is a table of ports with what listens there and how much it is used.
func (p *page) listeners(heading string, list []firewall.Listener) {
	var rows [][]string
	for _, l := range list {
		connections := ""
		if l.Connections != nil {
			connections = strconv.Itoa(*l.Connections)
		}
		rows = append(rows, []string{l.String(), known(l.Process), connections})
	}
	p.table(heading, []column{{title: "port", whole: true}, {title: "process"}, {title: "connections", right: true}}, rows)
}

// An enablePreview is what enable_firewall would answer. Its sentence stands
// beside it already.
type enablePreview struct {
	firewall.Enabled
	Details string `json:"details,omitempty"`
}

func (e enablePreview) explain(p *page) {
	p.closes(e.Enabled, "could not reach any more")
	p.listeners(servicesText(len(e.StaysOpen), e.StaysOpenTotal, "could still reach"), e.StaysOpen)
	if e.ClosesTotal > 0 {
		p.fix("To let some of them stay reachable, name them, as in: sudo sentinel --fix-firewall --keep-open " + strings.Join(portTexts(portsOf(e.Closes[:1])), ","))
	}
}

func portsOf(list []firewall.Listener) []firewall.Port {
	ports := []firewall.Port{}
	for _, l := range list {
		ports = append(ports, l.Port)
	}
	return ports
}
