// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"

	"sentinel/internal/health"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
)

// viewRows is how many connections and listeners the view shows; the document
// has more.
const viewRows = 8

func (d *healthDocument) view(p *page) {
	p.verdict(d.verdict())
	for _, r := range d.ThreatReasons {
		p.line("  - %s", r.Message)
	}
	p.table("", []column{{title: "what"}, {title: "now"}}, d.Lines())
	p.table(shownOf("File systems", len(d.Disks), total(d.DisksTotal)), []column{
		{title: "mounted at"}, {title: "type"}, {title: "size", right: true}, {title: "used", right: true}, {title: "avail", right: true}, {title: "full", right: true},
	}, diskRows(d.Disks))
	p.table("Busiest processes", topColumns[:6], topRows(d.TopProcesses, false))
	d.viewSockets(p)
	p.gaps(d.Unavailable)
}

func (d *healthDocument) verdict() (tone, string, string) {
	switch d.ThreatLevel {
	case health.Critical:
		return severe, d.ThreatLevel, d.Hostname + " needs help now."
	case health.Warning:
		return warn, d.ThreatLevel, d.Hostname + " needs attention."
	default:
		return calm, "OK", d.Hostname + " is fine: no threshold is reached."
	}
}

func diskRows(disks []health.Disk) [][]string {
	var rows [][]string
	for _, d := range disks {
		rows = append(rows, []string{
			d.Mountpoint, d.FileSystem, humanize.Bytes(d.SizeBytes), humanize.Bytes(d.UsedBytes), humanize.Bytes(d.AvailableBytes), humanize.Percent(d.UsedPercent),
		})
	}
	return rows
}

func (d *healthDocument) viewSockets(p *page) {
	if d.Connections == nil {
		return
	}
	flows := d.Flows[:min(viewRows, len(d.Flows))]
	var rows [][]string
	for _, f := range flows {
		rows = append(rows, []string{pidText(f.PID), known(f.ProcessName), f.Source, f.Destination, string(f.Status)})
	}
	p.table(shownOf("Connections", len(flows), d.FlowsTotal), []column{
		{title: "pid", right: true}, {title: "process"}, {title: "this end"}, {title: "other end"}, {title: "state"},
	}, rows)
	listeners := d.Listening[:min(viewRows, len(d.Listening))]
	p.table(shownOf("Listening", len(listeners), d.ListeningTotal), []column{
		{title: "pid", right: true}, {title: "process"}, {title: "address"}, {title: "protocol"}, {title: "reachable from"},
	}, listenerRows(listeners))
}

func listenerRows(listeners []network.Listener) [][]string {
	var rows [][]string
	for _, l := range listeners {
		from := "this machine"
		if l.Exposed {
			from = "other hosts"
		}
		rows = append(rows, []string{pidText(l.PID), known(l.ProcessName), l.Address, string(l.Protocol), from})
	}
	return rows
}

func shownOf(what string, shown, total int) string {
	if shown == total {
		return what + ": " + strconv.Itoa(total)
	}
	return fmt.Sprintf("%s: %d of %d (--json shows more)", what, shown, total)
}
