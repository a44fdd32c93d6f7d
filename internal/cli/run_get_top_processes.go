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
	d := topDocument{answer.NewHeader(call.op.Action, true), ranking}
	if call.request && !call.op.Lengthened(call.args) {
		fit(d, usualAnswer, d.Shorten)
	}
	return d, nil
}

func (d topDocument) view(p *page) {
	if len(d.Processes) == 0 {
		p.verdict(warn, "NONE", "No process can be seen.")
		return
	}
	first := d.Processes[0]
	memory := fmt.Sprintf("%.0f MiB", first.MemoryMB)
	if !first.Seen() {
		memory = "memory that is not known"
	}
	p.verdict(calm, "TOP", fmt.Sprintf("%s (PID %d) uses the most: %.1f %% of a core and %s.", wordOf(first.Name), first.PID, first.CPUPercent, memory))
	p.table(fmt.Sprintf("%d of %d processes by %s, CPU over %d ms, 100 %% is one core",
		len(d.Processes), d.ProcessesTotal, d.SortedBy, d.WindowMS), ownColumns, topRows(d.Processes, true))
	p.gaps(d.Unavailable)
}

var topColumns = []column{
	{title: "pid", right: true}, {title: "name"}, {title: "cpu %", right: true}, {title: "mem MiB", right: true},
	{title: "user"}, {title: "status"},
}

// ownColumns are those of the page of processes alone, in place of the status.
var ownColumns = append(topColumns[:5:5], column{title: "age", right: true}, column{title: "cpu time", right: true}, column{title: "of"}, column{title: "command"})

// topRows are rows of topColumns, or of ownColumns.
func topRows(list []processes.Process, own bool) [][]string {
	var rows [][]string
	for _, r := range list {
		row := []string{
			pidText(r.PID), r.Name, fmt.Sprintf("%.1f", r.CPUPercent), fmt.Sprintf("%.1f", r.MemoryMB), known(r.User),
		}
		if !r.Seen() {
			row[3] = known("")
		}
		if own {
			row = append(row, secondsText(r.AgeSeconds), cpuText(r.CPUSeconds), known(belongsText(r)), known(r.Command))
		} else {
			row = append(row, r.Status)
		}
		rows = append(rows, row)
	}
	return rows
}

// belongsText names the unit of a process, or its parent where it is in none.
func belongsText(p processes.Process) string {
	switch {
	case p.Unit != "":
		return p.Unit
	case p.Parent != nil:
		return fmt.Sprintf("%s (%d)", p.Parent.Name, p.Parent.PID)
	default:
		return ""
	}
}

// secondsText is an age in its largest unit.
func secondsText(seconds *int64) string {
	if seconds == nil {
		return known("")
	}
	for _, unit := range []struct {
		size int64
		name string
	}{{24 * 60 * 60, "d"}, {60 * 60, "h"}, {60, "min"}} {
		if *seconds >= unit.size {
			return fmt.Sprintf("%d %s", *seconds/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d s", *seconds)
}

func cpuText(seconds *float64) string {
	if seconds == nil {
		return known("")
	}
	return secondsText(new(int64(*seconds)))
}
