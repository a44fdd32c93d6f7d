// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/fleet"
	"sentinel/internal/humanize"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/remote"
	"sentinel/internal/sanitize"
)

// A fleetDocument answers get_fleet_health.
type fleetDocument struct {
	answer.Header
	fleet.Report
}

// runFleetHealth asks the machines that the command line names, or those of the configuration, for what the
// policy here lets a program ask for.
func runFleetHealth(ctx context.Context, s session, call invocation) (document, error) {
	if err := refused(s.config.Policy, healthOperation(), call.request, limited(s.who)); err != nil {
		return nil, err
	}
	names := call.hosts
	if len(names) == 0 {
		names = s.config.Hosts
	}
	machines, err := s.others(names)
	if err != nil {
		return nil, err
	}
	if !call.args.Bool("skip_local") {
		machines = append(machines, s.here())
	}
	progress.Say(ctx, 5, "asking "+humanize.Count(len(machines), "machine", "machines"))
	d := &fleetDocument{answer.NewHeader(call.op.Action, true), fleet.Survey(ctx, machines)}
	if call.request {
		d.Fit()
	}
	return d, ctx.Err()
}

// others are the machines of these names.
func (s session) others(names []string) (machines []fleet.Machine, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	carrier, err := remote.New(s.host.Programs, s.environ, s.who.UID)
	if err != nil {
		return nil, err
	}
	op := healthOperation()
	for _, name := range names {
		machines = append(machines, fleet.Machine{Host: name, Health: func(ctx context.Context) (json.RawMessage, error) {
			a, err := carrier.Run(ctx, name, op, []byte("{}"), nil)
			return a.Document, err
		}})
	}
	return machines, nil
}

// here is this machine, as root sees it where the rules of sudo are likely to allow that.
func (s session) here() fleet.Machine {
	name, _ := os.Hostname() //nolint:errcheck // an unnamed host has a row, too
	return fleet.Machine{Host: cmp.Or(sanitize.Text(name, 253), "this machine"), Local: true, Health: func(ctx context.Context) (json.RawMessage, error) {
		call := invocation{op: healthOperation(), request: true, verbatim: true, rows: defaultRows}
		if own, err := s.elevatable(ctx); err == nil {
			doc, done, err := elevated{s.host.Programs, own, call}.send(ctx, []byte("{}"))
			if r, ok := doc.(relayed); ok && done {
				return r.raw, err
			}
		}
		doc, err := runSystemHealth(ctx, s, call)
		if err != nil {
			return nil, err
		}
		return json.Marshal(doc)
	}}
}

// elevatable returns the path of this program where sudo is likely to run it for the user.
func (s session) elevatable(ctx context.Context) (string, error) {
	if s.root || s.own == nil || !s.host.Live {
		return "", fault.New(fault.Unavailable, "sudo is of no use here")
	}
	own, err := s.own()
	if err == nil && !s.situation(ctx).Likely() {
		err = fault.New(fault.PermissionDenied, "sudo does not run it for this user")
	}
	return own, err
}

func healthOperation() ops.Operation {
	op, _ := ops.ByName("get_system_health")
	return op
}

func (d *fleetDocument) view(p *page) {
	d.verdict(p)
	var rows [][]string
	for _, h := range d.Hosts {
		rows = append(rows, []string{h.Host, cmp.Or(h.ThreatLevel, "NO ANSWER"), known(cmp.Or(h.Reason, h.Error)), percentText(h.CPUPercent), percentText(h.MemoryPercent), percentText(h.DiskPercent)})
	}
	p.table("", []column{{title: "host", whole: true}, {title: "level", whole: true}, {title: "worst of it"}, {title: "cpu", right: true}, {title: "memory", right: true}, {title: "disk", right: true}}, rows)
}

// verdict is the first line, and what to do next.
func (d *fleetDocument) verdict(p *page) {
	asked := "of " + counted(d.Total, "machine")
	switch {
	case d.Total == 0:
		p.verdict(warn, "UNKNOWN", "No machine was asked.")
	case d.Critical > 0:
		p.verdict(severe, "CRITICAL", fmt.Sprintf("%d %s, %d with a warning, %d without an answer.", d.Critical, asked, d.Warning, d.Unanswered))
	case d.Warning+d.Unanswered > 0:
		p.verdict(warn, "WARNING", fmt.Sprintf("%d %s, %d without an answer.", d.Warning, asked, d.Unanswered))
	default:
		p.verdict(calm, "WELL", fmt.Sprintf("All %s.", asked))
	}
	if len(d.Hosts) == 0 || d.Total == 1 && d.Hosts[0].Local {
		p.fix("No other machines are named; name some with: sentinel --fleet-health --host NAME")
		return
	}
	switch worst := d.Hosts[0]; {
	case worst.Local:
		p.fix("Look closer with: sentinel")
	case worst.ThreatLevel != "":
		p.fix("Look closer with: sentinel --host " + worst.Host)
	default:
		p.fix("See what to do about it with: sentinel --host " + worst.Host)
	}
}

// percentText shows a share of which the first digits count.
func percentText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", *v)
}
