// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/portscan"
	"sentinel/internal/progress"
	"sentinel/internal/reach"
	"sentinel/internal/target"
)

// A scanDocument answers scan_ports.
type scanDocument struct {
	answer.Header
	portscan.Report
}

func runScanPorts(ctx context.Context, s session, call invocation) (document, error) {
	host, err := target.Parse(call.args.Text("target"))
	if err != nil {
		return nil, err
	}
	ports, err := portscan.ParsePorts(call.args.Text("port_range"))
	if err != nil {
		return nil, err
	}
	sources := s.host.Scan.With(s.config.Scan.Engine)
	sources.Reach = func(ctx context.Context) reach.Judge { return firewallFacts(ctx, s.host.Firewall).Reach() }
	report, err := portscan.Scan(ctx, sources, portscan.Request{
		Target: host, Ports: ports, Rows: call.capped(portscan.DefaultRows), Brief: call.request,
		Policy:   portscan.Policy{Allow: s.config.Scan.Allowed(), OnlyAllowed: s.config.Scan.OnlyTargets, Force: call.force},
		Progress: func(percent int) { progress.Say(ctx, percent, fmt.Sprintf("%d percent of the ports asked", percent)) },
	})
	if err != nil {
		return nil, err
	}
	return scanDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

func (d scanDocument) view(p *page) {
	p.verdict(d.verdict())
	if len(d.Addresses) > 1 {
		for _, a := range d.Addresses {
			p.line("  - %s: %s", a.Address, addressCounts(a))
		}
	}
	p.table(shownOf("Open ports", len(d.Ports), d.OpenCount), d.columns(), d.rows())
	if len(d.OpenRanges) > 0 {
		p.line("Also open: %s", strings.Join(d.OpenRanges, ", "))
	}
	p.gaps(d.Unavailable)
}

func (d scanDocument) verdict() (t tone, word, sentence string) {
	asked := d.PortsTotal / max(1, len(d.Addresses))
	switch {
	case d.Host == portscan.HostNoAnswer:
		return warn, "NO ANSWER", fmt.Sprintf("%s did not answer at any of %s that were asked.", d.Target, counted(asked, "port"))
	case !d.Complete:
		t = warn
	default:
		t = calm
	}
	if len(d.Addresses) > 1 {
		return t, "PORTS", fmt.Sprintf("%s of %s at %s.", counted(d.OpenCount, "open port"), d.Target, humanize.Count(len(d.Addresses), "address", "addresses"))
	}
	return t, "PORTS", fmt.Sprintf("%s of %s: %d open, %d closed, %d filtered.", counted(d.PortsTotal, "port"), d.Address, d.OpenCount, d.ClosedCount, d.FilteredCount)
}

// columns has those of listeners for this machine alone.
func (d scanDocument) columns() []column {
	list := []column{{title: "port", right: true}, {title: "usually"}}
	if len(d.Addresses) > 1 {
		list = append(list, column{title: "at"})
	}
	if d.Local {
		list = append(list, column{title: "process"}, column{title: "pid", right: true}, column{title: "listens at"}, column{title: "reachable from"})
	}
	return list
}

func (d scanDocument) rows() [][]string {
	var rows [][]string
	for _, o := range d.Ports {
		row := []string{strconv.Itoa(o.Port), o.Service}
		if len(d.Addresses) > 1 {
			row = append(row, o.Address)
		}
		if d.Local {
			from := notKnown
			if o.Exposed != nil {
				from = reachableFrom(*o.Exposed, o.Reach, o.ReachLimited)
			}
			row = append(row, known(o.ProcessName), pidText(o.PID), known(o.Bind), from)
		}
		rows = append(rows, row)
	}
	return rows
}

func addressCounts(a portscan.Address) string {
	if a.Host == portscan.HostNoAnswer {
		return portscan.HostNoAnswer
	}
	return fmt.Sprintf("%d open, %d closed, %d filtered", a.OpenCount, a.ClosedCount, a.FilteredCount)
}
