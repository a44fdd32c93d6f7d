// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/health"
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
	p.table("", []column{{title: "what"}, {title: "now"}}, d.overview())
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

// overview lists the single values; one that is not known has no line, since it
// is listed as a gap.
func (d *healthDocument) overview() [][]string {
	var rows [][]string
	add := func(what, now string) {
		if now != "" {
			rows = append(rows, []string{what, now})
		}
	}
	add("processor", d.cpuText())
	if t := d.Thermal; t != nil {
		if t.Celsius != nil {
			add("temperature", fmt.Sprintf("%s °C (%s)", d.Temperature, t.Sensor))
		}
		add("heat", heatText(*t))
	}
	if m := d.Memory; m != nil {
		add("memory", memoryText(*m))
	}
	if s := d.Swap; s != nil && s.TotalBytes > 0 {
		add("swap", swapText(*s))
	}
	add("waiting", pressureText(d.Pressure))
	add("firewall", strings.ToLower(d.FirewallStatus)+": "+d.FirewallEvidence)
	if d.UptimeSeconds != nil {
		add("up for", durationText(*d.UptimeSeconds))
	}
	if d.FailedUnitsTotal != nil {
		add("failed units", unitsText(d.FailedUnits, *d.FailedUnitsTotal))
	}
	if d.RebootRequired != nil && *d.RebootRequired {
		add("reboot", "needed for updates to take effect")
	}
	return rows
}

func (d *healthDocument) cpuText() string {
	var parts []string
	if d.CPU.Percent != nil {
		parts = append(parts, percentText(*d.CPU.Percent)+" busy")
	}
	if d.CPU.Cores > 0 {
		parts = append(parts, fmt.Sprintf("cores %d", d.CPU.Cores))
	}
	if d.CPU.Load15 != nil {
		parts = append(parts, fmt.Sprintf("load %.2f %.2f %.2f", *d.CPU.Load1, *d.CPU.Load5, *d.CPU.Load15))
	}
	return strings.Join(parts, ", ")
}

// heatText says what the system does because of heat.
func heatText(t health.Thermal) string {
	var parts []string
	if t.PressureLevel != "" {
		parts = append(parts, "pressure "+strings.ToLower(t.PressureLevel))
	}
	if t.SpeedLimit > 0 && t.SpeedLimit < 100 {
		parts = append(parts, fmt.Sprintf("processor held to %d %% of its speed", t.SpeedLimit))
	}
	return strings.Join(parts, ", ")
}

func memoryText(m health.Memory) string {
	text := usedText(m.UsedBytes, m.TotalBytes, m.UsedPercent)
	if m.PressureLevel != "" {
		text += ", pressure " + m.PressureLevel
	}
	return text
}

// swapText leaves the share out where the whole grows with the need.
func swapText(s health.Swap) string {
	if s.Grows {
		return fmt.Sprintf("%s used, more is made when needed", bytesText(s.UsedBytes))
	}
	return usedText(s.UsedBytes, s.TotalBytes, s.UsedPercent)
}

func usedText(used, total uint64, percent float64) string {
	return fmt.Sprintf("%s of %s used (%s)", bytesText(used), bytesText(total), percentText(percent))
}

// pressureText shows the last minute of each resource.
func pressureText(pressure map[string]health.Pressure) string {
	var parts []string
	for _, resource := range []string{"cpu", "memory", "io"} {
		if p := pressure[resource].SomeAvg60; p != nil {
			parts = append(parts, fmt.Sprintf("%s %s", resource, percentText(*p)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " of the last minute"
}

func unitsText(units []health.FailedUnit, total int) string {
	if total == 0 {
		return "none"
	}
	var names []string
	for _, u := range units {
		names = append(names, u.Name)
	}
	if total > len(names) {
		names = append(names, fmt.Sprintf("and %d more", total-len(names)))
	}
	return strings.Join(names, ", ")
}

func diskRows(disks []health.Disk) [][]string {
	var rows [][]string
	for _, d := range disks {
		rows = append(rows, []string{
			d.Mountpoint, d.FileSystem, bytesText(d.SizeBytes), bytesText(d.UsedBytes), bytesText(d.AvailableBytes), percentText(d.UsedPercent),
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
