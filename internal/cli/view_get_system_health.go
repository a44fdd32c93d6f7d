// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/health"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/internal/reach"
)

// viewRows is how many connections and listeners the view shows; the document
// has more.
const viewRows = 8

func (d *healthDocument) view(p *page) {
	p.verdict(d.verdict())
	if list := d.findings(); len(list) > 0 {
		p.line("")
		p.findings(list, d.moreReasons)
	}
	if !p.verbose {
		p.facts(slices.Concat(d.Lines(), d.summaries(), p.unknown(d.Unavailable)))
		return
	}
	p.facts(d.Lines())
	p.table(shownOf("File systems", len(d.Disks), total(d.DisksTotal)), []column{
		{title: "mounted at"}, {title: "type"}, {title: "size", right: true}, {title: "used", right: true}, {title: "avail", right: true}, {title: "full", right: true},
	}, diskRows(d.Disks))
	p.table("Busiest processes", topColumns, topRows(d.TopProcesses, false))
	d.viewSockets(p)
	p.gaps(d.Unavailable)
}

// findings are the reasons of the threat level, the worst first.
func (d *healthDocument) findings() []finding {
	var list []finding
	for _, severity := range []string{health.Critical, health.Warning} {
		for _, r := range d.ThreatReasons {
			if r.Severity != severity {
				continue
			}
			f := finding{status: r.Severity, message: r.Message, fix: d.nextStep(r)}
			switch {
			case r.Culprit != "":
				f.behind = []string{r.Culprit}
			case r.Code == "FIREWALL_DISABLED":
				f.behind = []string{d.FirewallEvidence}
			}
			list = append(list, f)
		}
	}
	return list
}

// moreReasons says how to see the reasons that the screen has no room for.
func (d *healthDocument) moreReasons(p *page, rest []finding) {
	if len(rest) > 0 {
		p.seeAll(counted(len(rest), "more reason"))
	}
}

// summaries are what the page with everything has tables of, a line for each.
func (d *healthDocument) summaries() [][]string {
	var rows [][]string
	add := func(title, text string) {
		if text != "" {
			rows = append(rows, []string{title, text})
		}
	}
	add("file systems", d.disksText())
	add("busiest", busiestText(d.TopProcesses))
	if c := d.Connections; c != nil {
		add("network", counted(c.FlowsTotal, "connection")+", "+counted(c.ListeningTotal, "listening socket")+exposedText(c.Listening))
	}
	return rows
}

// mostInLine is how many items of a list a line shows.
const mostInLine = 3

// disksText shows the fullest file systems.
func (d *healthDocument) disksText() string {
	var parts []string
	for _, disk := range d.Disks[:min(mostInLine, len(d.Disks))] {
		parts = append(parts, fmt.Sprintf("%s %.0f %% of %s", disk.Mountpoint, disk.UsedPercent, humanize.Bytes(disk.SizeBytes)))
	}
	return withMore(parts, total(d.DisksTotal), ", ")
}

func busiestText(list []processes.Process) string {
	var parts []string
	for _, p := range list {
		parts = append(parts, fmt.Sprintf("%s (PID %d) %.0f %%", wordOf(p.Name), p.PID, p.CPUPercent))
	}
	return strings.Join(parts, ", ")
}

// exposedText names what other hosts can reach, and what it is not known of.
func exposedText(list []network.Listener) string {
	var text strings.Builder
	for _, from := range []string{otherHosts, someHosts, notKnown} {
		var names []string
		for _, l := range list {
			name := string(l.Protocol) + " " + portOf(l.Address)
			if l.ProcessName != "" {
				name = wordOf(l.ProcessName) + " " + name
			}
			if reachableFrom(l.Exposed, l.Reach, l.ReachLimited) == from && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			text.WriteString("; " + map[string]string{otherHosts: "for other hosts", someHosts: "for some hosts", notKnown: "perhaps for other hosts"}[from] + ": " +
				withMore(names[:min(mostInLine, len(names))], len(names), ", "))
		}
	}
	return text.String()
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// joined joins the texts that there are.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// withMore joins the first items of a list, and says how many of all are left.
func withMore(shown []string, all int, separator string) string {
	text := strings.Join(shown, separator)
	if more := all - len(shown); more > 0 && len(shown) > 0 {
		text += fmt.Sprintf("%s%d more", separator, more)
	}
	return text
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
	flows := network.FewerFlows(d.Flows, viewRows)
	var rows [][]string
	for _, f := range flows {
		rows = append(rows, []string{pidText(f.PID), holder(f.ProcessName, f.UID), f.Source, f.Destination, string(f.Status)})
	}
	p.table(shownOf("Connections", len(flows), d.FlowsTotal), []column{
		{title: "pid", right: true}, {title: "process"}, {title: "this end"}, {title: "other end"}, {title: "state"},
	}, rows)
	d.viewGroups(p)
	listeners := network.FewerListeners(d.Listening, viewRows)
	p.table(shownOf("Listening", len(listeners), d.ListeningTotal), []column{
		{title: "pid", right: true}, {title: "process"}, {title: "address"}, {title: "protocol"}, {title: "reachable from"},
	}, listenerRows(listeners))
}

// viewGroups shows who has most connections, where one has more than one.
func (d *healthDocument) viewGroups(p *page) {
	var rows [][]string
	for _, g := range d.FlowGroups {
		if g.Connections > 1 {
			rows = append(rows, []string{g.Address, strconv.Itoa(g.Connections), strconv.Itoa(g.Established), strconv.Itoa(g.TimeWait)})
		}
	}
	if len(rows) > 0 {
		p.table(fmt.Sprintf("Most connections, of %s", humanize.Count(d.FlowGroupsTotal, "remote address", "remote addresses")), []column{
			{title: "other end"}, {title: "connections", right: true}, {title: "established", right: true}, {title: "time wait", right: true},
		}, rows)
	}
}

// holder is the process of a socket, or the user of one of which no process is seen.
func holder(name string, uid int) string {
	if name == "" && uid != 0 {
		return fmt.Sprintf("(UID %d)", uid)
	}
	return known(name)
}

func listenerRows(listeners []network.Listener) [][]string {
	var rows [][]string
	for _, l := range listeners {
		from := reachableFrom(l.Exposed, l.Reach, l.ReachLimited)
		rows = append(rows, []string{pidText(l.PID), holder(l.ProcessName, l.UID), l.Address, string(l.Protocol), from})
	}
	return rows
}

// From where a socket can be reached.
const (
	thisMachine = "this machine"
	filtered    = "this machine (filtered)"
	otherHosts  = "other hosts"
	someHosts   = "some hosts"
	notKnown    = "not known"
)

func reachableFrom(exposed bool, a reach.Answer, limited bool) string {
	switch {
	case !exposed:
		return thisMachine
	case a == reach.Filtered:
		return filtered
	case a != reach.Reachable:
		return notKnown
	case limited:
		return someHosts
	default:
		return otherHosts
	}
}

func shownOf(what string, shown, total int) string {
	if shown == total {
		return what + ": " + strconv.Itoa(total)
	}
	return fmt.Sprintf("%s: %d of %d (--limit all shows more)", what, shown, total)
}
