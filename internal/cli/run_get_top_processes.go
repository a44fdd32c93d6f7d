// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/processes"
)

// A topDocument answers get_top_processes.
type topDocument struct {
	answer.Header
	processes.Ranking
}

func runTopProcesses(ctx context.Context, s session, call invocation) (document, error) {
	ranking, err := processes.Top(ctx, s.host.Processes, processes.Options{
		Count: call.capped(call.args.Int("count")), Sort: call.args.Text("sort"),
	})
	if err != nil {
		return nil, unavailable(ctx, "The processes of this machine", err)
	}
	return topDocument{answer.NewHeader(call.op.Action, true), ranking}, nil
}

func (d topDocument) view(p *page) {
	if len(d.Processes) == 0 {
		p.verdict(warn, "NONE", "No process can be seen.")
		return
	}
	first := d.Processes[0]
	p.verdict(calm, "TOP", fmt.Sprintf("%s (PID %d) uses the most: %.1f %% of a core and %.0f MiB.",
		first.Name, first.PID, first.CPUPercent, first.MemoryMB))
	p.table(fmt.Sprintf("%d of %d processes by %s, CPU over %d ms, 100 %% is one core",
		len(d.Processes), d.ProcessesTotal, d.SortedBy, d.WindowMS), topColumns, topRows(d.Processes, true))
	p.gaps(d.Unavailable)
}

var topColumns = []column{
	{title: "pid", right: true}, {title: "name"}, {title: "cpu %", right: true}, {title: "mem MiB", right: true},
	{title: "user"}, {title: "status"}, {title: "command"},
}

func topRows(list []processes.Process, command bool) [][]string {
	var rows [][]string
	for _, r := range list {
		row := []string{
			pidText(r.PID), r.Name, fmt.Sprintf("%.1f", r.CPUPercent), fmt.Sprintf("%.1f", r.MemoryMB),
			known(r.User), r.Status,
		}
		if command {
			row = append(row, known(r.Command))
		}
		rows = append(rows, row)
	}
	return rows
}
