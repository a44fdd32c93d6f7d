// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/portscan"
	"sentinel/internal/progress"
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
	report, err := portscan.Scan(ctx, s.host.Scan.With(s.config.Scan.Engine), portscan.Request{
		Target: host, Ports: ports, Rows: call.capped(portscan.DefaultRows),
		Policy:   portscan.Policy{Allow: s.config.Scan.Allowed(), OnlyAllowed: s.config.Scan.OnlyTargets, Force: call.force},
		Progress: call.progress,
	})
	if err != nil {
		return nil, err
	}
	return scanDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

// progress reports the progress to the calling program, or to the person at the terminal.
func (i invocation) progress(percent int) {
	if i.request {
		io.WriteString(i.stderr, progress.Line(percent)) //nolint:errcheck // the answer does not depend on who listens
		return
	}
	i.indicator.Set(percent)
}

func (d scanDocument) view(p *page) {
	tone := calm
	if !d.Complete {
		tone = warn
	}
	p.verdict(tone, "PORTS", fmt.Sprintf("%d of %d ports of %s are open, %d closed, %d filtered.",
		d.OpenCount, d.PortsTotal, d.Address, d.ClosedCount, d.FilteredCount))
	var rows [][]string
	for _, o := range d.Ports {
		rows = append(rows, []string{strconv.Itoa(o.Port), o.Service, known(o.ProcessName), pidText(o.PID), known(o.Bind), yesNo(o.Exposed)})
	}
	p.table(shownOf("Open ports", len(d.Ports), d.OpenCount), []column{
		{title: "port", right: true}, {title: "usually"}, {title: "process"}, {title: "pid", right: true}, {title: "listens at"}, {title: "exposed"},
	}, rows)
	if len(d.OpenRanges) > 0 {
		p.line("Also open: %s", strings.Join(d.OpenRanges, ", "))
	}
	p.gaps(d.Unavailable)
}
