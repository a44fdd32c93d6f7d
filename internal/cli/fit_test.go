// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/containers"
	"sentinel/internal/dnslookup"
	"sentinel/internal/firewall"
	"sentinel/internal/journal"
	"sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/internal/traceroute"
)

// quotes are what takes most room in JSON of what a name of that length can be made of.
func quotes(n int) string { return strings.Repeat(`"`, n) }

func fullHistory() *historyDocument {
	d := &historyDocument{Header: answer.NewHeader("action_history", true), Total: 400, Unavailable: answer.Gaps{}}
	for range usualActions {
		d.Actions = append(d.Actions, journal.Action{Tool: "block_ip_address", Reason: wide(200), State: "done", Arguments: map[string]any{"ip": "2001:db8:1111:2222:3333:4444:5555:6666"}})
	}
	return d
}

// Whatever others have put into the names, a model gets no more than it can take, what comes first is
// still there, and it is told that something is missing.
func TestAnswersFitAModel(t *testing.T) {
	history := fullHistory()
	blocked := &blockedDocument{Header: answer.NewHeader("list_blocked", true)}
	for range 50 {
		blocked.Entries = append(blocked.Entries, blocklist.Row{IP: "2001:db8:1111:2222:3333:4444:5555:6666", Reason: wide(200), BlockedBy: wide(80)})
		blocked.IPs = append(blocked.IPs, "2001:db8:1111:2222:3333:4444:5555:6666")
	}
	crowd := &containersDocument{Header: answer.NewHeader("containers", true)}
	lookup := &lookupDocument{Header: answer.NewHeader("dns_lookup", true), Lookup: dnslookup.Lookup{RecordsTotal: 50}}
	for range 20 {
		c := containers.Container{Engine: "docker", Name: wide(80), Image: wide(120), Problem: wide(200)}
		for range 20 {
			c.Ports = append(c.Ports, containers.Port{Address: wide(64), Container: wide(20), Exposed: true})
		}
		crowd.Containers = append(crowd.Containers, c)
		lookup.Records = append(lookup.Records, dnslookup.Record{Name: quotes(260), Type: "TXT", Value: quotes(2000)})
	}
	process := &processDocument{Header: answer.NewHeader("process_details", true), Inspection: processes.Inspection{
		Command: wide(300), OpenFiles: &processes.OpenFiles{}, Sockets: &processes.ProcessSockets{}, Unavailable: answer.Gaps{},
	}}
	for range 15 {
		process.Ancestry = append(process.Ancestry, processes.Kin{Name: wide(16), Command: wide(80)})
		process.OpenFiles.Files = append(process.OpenFiles.Files, processes.OpenFile{Kind: "file", Path: wide(160)})
		process.Sockets.Sockets = append(process.Sockets.Sockets, processes.ProcessSocket{Local: wide(108)})
	}
	top := topDocument{answer.NewHeader("top_processes", true), processes.Ranking{Unavailable: answer.Gaps{}}}
	for range 10 {
		top.Processes = append(top.Processes, processes.Process{
			Name: wide(64), Command: wide(160), User: "www-data", Unit: "web.service", StartID: "0a1b2c3d.123456789", Parent: &processes.Relative{PID: 1, Name: wide(15)},
		})
	}
	traffic := &networkDocument{Header: answer.NewHeader("network_stats", true)}
	for n := range network.InterfaceRows {
		traffic.Stats.Interfaces = append(traffic.Stats.Interfaces, network.InterfaceStats{Name: fmt.Sprint(wide(14), n), BytesSent: 1 << 60, BytesRecv: 1 << 60, PacketsSent: 1 << 60})
	}
	for name, c := range map[string]struct {
		d    any
		fit  func()
		kept func() bool
		told func() bool
	}{
		"history": {history, func() { history.fit(usualAnswer) },
			func() bool { return len(history.Actions) == usualActions }, func() bool { return strings.HasSuffix(history.Actions[0].Reason, "…") }},
		"blocked": {blocked, func() { blocked.fit(usualAnswer) }, func() bool { return len(blocked.Entries) > 3 }, func() bool { return blocked.Truncated }},
		"containers": {crowd, func() { crowd.Fit(usualAnswer - answer.Size(crowd.Header)) },
			func() bool { return len(crowd.Containers) > 0 }, func() bool { return crowd.Truncated }},
		"network": {traffic, func() { fit(traffic, usualAnswer, traffic.cut) },
			func() bool { return len(traffic.Stats.Interfaces) > 20 }, func() bool { return traffic.Stats.Truncated }},
		"records": {lookup, func() { lookup.fit() }, func() bool { return len(lookup.Records) > 0 }, func() bool { return lookup.Truncated }},
		"process": {process, func() { fit(process, usualAnswer, process.Cut) },
			func() bool { return len(process.OpenFiles.Files) > 1 && len(process.Ancestry) >= 4 },
			func() bool { return process.OpenFiles.Truncated && process.Sockets.Truncated }},
		"top": {top, func() { fit(top, usualAnswer, top.Shorten) },
			func() bool { return len(top.Processes) == 10 }, func() bool { return strings.HasSuffix(top.Processes[0].Command, "…") }},
	} {
		c.fit()
		raw, err := encode(c.d, false)
		if err != nil || len(raw) > usualAnswer || !c.kept() || !c.told() {
			t.Errorf("%s: %d bytes, kept %v, told %v, %v", name, len(raw), c.kept(), c.told(), err)
		}
	}
}

// Of a history that is far too long the reasons go first, and the oldest actions only then.
func TestReasonsTakeNoActionsAway(t *testing.T) {
	d := fullHistory()
	d.Actions = slices.Repeat(d.Actions, 10)
	d.fit(usualAnswer)
	if raw, err := encode(d, false); err != nil || len(raw) > usualAnswer || len(d.Actions) < usualActions || !d.Truncated {
		t.Errorf("%d bytes, %d actions, truncated %v, %v", len(raw), len(d.Actions), d.Truncated, err)
	}
}

// The owners of thirty routers have given them the longest names that there are.
func TestARouteFitsAModel(t *testing.T) {
	d := &routeDocument{Header: answer.NewHeader("traceroute", true), Route: traceroute.Route{Unavailable: answer.Gaps{}}}
	for n := range traceroute.MaxHops {
		d.Hops = append(d.Hops, traceroute.Hop{
			Hop: n + 1, Name: strings.Repeat("n", 100+5*n), Sent: 3, LatencyMS: []float64{1234.567, 1234.567, 1234.567},
			Addresses: []string{"2001:db8:1111:2222:3333:4444:5555:6666", "2001:db8:1111:2222:3333:4444:5555:7777", "2001:db8:1111:2222:3333:4444:5555:8888"},
		})
	}
	fit(d, usualAnswer, d.cut)
	raw, err := encode(d, false)
	last := d.Hops[len(d.Hops)-1]
	if err != nil || len(raw) > usualAnswer || len(d.Hops) != traceroute.MaxHops || last.Name != "" || len(d.Unavailable) != 1 || !strings.HasPrefix(d.Unavailable[0].Field, fmt.Sprintf("hops.%d.name", last.Hop)) {
		t.Errorf("%d bytes, %d hops, %+v, %+v, %v", len(raw), len(d.Hops), last, d.Unavailable, err)
	}
}

// Names of what listens are chosen by whoever started it. The first, which a question names, stay.
func TestAChangeOfTheFirewallFitsAModel(t *testing.T) {
	var list []firewall.Listener
	for n := range 30 {
		list = append(list, firewall.Listener{Port: firewall.Port{Number: uint16(60000 + n), Protocol: "tcp"}, Process: wide(64), Connections: new(1000)})
	}
	on := firewall.Enabled{Closes: list, ClosesTotal: 30, StaysOpen: list, StaysOpenTotal: 30}
	off := firewall.Disablement{Exposes: list, ExposesTotal: 30}
	call := invocation{request: true}
	done, undone := &enableDocument{Enabled: on}, &disableDocument{Disablement: off}
	call.shorten(done, usualAnswer-journalRoom)
	call.shorten(undone, usualAnswer-journalRoom)
	s := session{}
	for name, d := range map[string]any{
		"switched on": done, "switched off": undone, "a question": s.dryRun(call, change{would: wide(300), preview: &enablePreview{Enabled: on}}),
		"the other": s.dryRun(call, change{would: wide(300), preview: &disablePreview{off}}),
	} {
		raw, err := encode(d, false)
		if err != nil || len(raw) > usualAnswer || !strings.Contains(string(raw), `"port":60004,`) || !strings.Contains(string(raw), `_truncated":true`) {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
	}
	if len(done.Closes) < 5 || !done.StaysOpenTruncated || len(undone.Exposes) < 20 {
		t.Errorf("%d closed, %d open", len(done.Closes), len(undone.Exposes))
	}
	whole := &enableDocument{Enabled: on}
	if (invocation{}).shorten(whole, usualAnswer); len(whole.Closes) != 30 || len(whole.StaysOpen) != 30 {
		t.Error("a person at a shell has less than before")
	}
}
