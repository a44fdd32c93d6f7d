// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/answer"
	"sentinel/internal/assets"
	"sentinel/internal/health"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
	"sentinel/internal/processes"
)

// wide is as long as a document lets a text be, in letters two columns wide.
func wide(n int) string { return strings.Repeat("漢", n) }

// largest is a health document with every field at its longest.
func largest() *healthDocument {
	d := &healthDocument{Header: answer.NewHeader("system_health", true), Connections: &network.Connections{}}
	d.CPU = &health.CPU{Percent: new(99.9), Cores: 512, Load1: new(1234.56), Load5: new(1234.56), Load15: new(1234.56)}
	d.Thermal, d.Temperature = &health.Thermal{Sensor: wide(64), Celsius: new(99.9), PressureLevel: wide(32), SpeedLimit: 72}, "100"
	d.Memory = &health.Memory{TotalBytes: 1 << 63, UsedBytes: 1 << 63, UsedPercent: 100}
	d.Swap = &health.Swap{TotalBytes: 1 << 63, UsedBytes: 1 << 63, UsedPercent: 100}
	d.Pressure = map[string]health.Pressure{"cpu": {SomeAvg60: new(99.9)}, "memory": {SomeAvg60: new(99.9)}, "io": {SomeAvg60: new(99.9)}}
	d.FirewallStatus, d.FirewallEvidence = "UNKNOWN", wide(120)
	d.UptimeSeconds, d.RebootRequired = new(int64(1<<40)), new(true)
	d.FailedUnitsTotal = new(100)
	d.OOMKills, d.OOMKillsLastDay, d.OOMEvents = new(uint64(5)), new(uint64(5)), []health.OOMEvent{{Process: "java", Unit: wide(96), Time: "2026-11-20T03:14:00Z"}}
	comm := strings.Repeat("\ufffd", 15) // 15 bytes that are no text
	for range 10 {
		d.FailedUnits = append(d.FailedUnits, health.FailedUnit{Name: wide(96)})
		d.Disks = append(d.Disks, health.Disk{Mountpoint: wide(128), FileSystem: wide(32), SizeBytes: 1 << 62, UsedBytes: 1 << 62, UsedPercent: 100})
		d.TopProcesses = append(d.TopProcesses, processes.Process{PID: 4194304, Name: wide(64), User: wide(64), Status: "uninterruptible", CPUPercent: 51200, MemoryMB: 1e7})
		d.Flows = append(d.Flows, network.Flow{
			PID: 4194304, ProcessName: comm, Source: "[2001:db8:1111:2222:3333:4444:5555:6666]:65535",
			Destination: "[2001:db8:1111:2222:3333:4444:5555:6666]:65535", Status: network.SynReceived, Protocol: network.TCP,
		})
		d.Listening = append(d.Listening, network.Listener{PID: 4194304, ProcessName: comm, Address: "[2001:db8:1111:2222:3333:4444:5555:6666]:65535", Protocol: network.UDP, Exposed: true})
		d.Unavailable.Note("disks."+wide(64), wide(200))
	}
	d.FlowsTotal, d.ListeningTotal, d.DisksTotal = 1e6, 1e6, new(1000000)
	d.Judge(health.DefaultThresholds())
	return d
}

func TestTheViewFitsTheTerminal(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		for name, doc := range map[string]document{
			"health": largest(),
			"top": topDocument{answer.NewHeader("top_processes", true), processes.Ranking{
				SortedBy: "memory", ProcessesTotal: 1e6, WindowMS: 500, Processes: []processes.Process{{
					PID: 4194304, Name: wide(64), User: wide(64), Status: "uninterruptible", Command: wide(160), CPUPercent: 51200, MemoryMB: 1e7,
				}},
			}},
			"assets": assetDocument{answer.NewHeader("asset_info", true), assets.Result{Asset: assets.Asset{
				AssetID: wide(36), Hostname: wide(100), SerialNumber: wide(100), Container: wide(100), Virtualization: wide(100),
				Hardware: assets.Hardware{Model: wide(100), Vendor: wide(100), Chip: wide(100), Cores: new(512), CoresPhysical: new(256), MemoryBytes: new(uint64(1 << 63))},
				OS:       assets.OS{Name: wide(100), Version: wide(100), Build: wide(100), Kernel: wide(100), Architecture: wide(100), Uptime: wide(100)},
				Network:  assets.Network{Interfaces: []assets.Interface{{Name: wide(15), MAC: wide(20), State: "down", SpeedMbps: 400000, Addresses: []string{wide(43), wide(43)}}}},
				Storage:  assets.Storage{Volumes: []assets.VolumeRow{{Device: wide(100), Mountpoint: wide(100), FileSystem: wide(100), SizeBytes: new(uint64(1 << 63))}}},
			}}},
			"network": networkDocument{answer.NewHeader("network_stats", true), network.Report{Stats: network.Stats{
				TotalBytesSent: 1 << 63, TotalBytesRecv: 1 << 63, Interfaces: []network.InterfaceStats{{
					Name: wide(32), BytesSent: 1 << 63, BytesRecv: 1 << 63, ErrorsIn: 1 << 40, DropsIn: new(uint64(1 << 40)),
					SentPerSecond: new(int64(1 << 40)), RecvPerSecond: new(int64(1 << 40)),
				}}, Connections: &network.ConnectionCounts{Total: 1e6, TCP: 1e6, UDP: 1e6, Established: 1e6, Listen: 1e6, TimeWait: 1e6, CloseWait: 1e6, Other: 1e6},
			}}},
		} {
			p := newPage(width, false)
			doc.view(p)
			for line := range strings.Lines(string(p.bytes())) {
				if w := text.StringWidth(strings.TrimRight(line, "\n")); w > width && !isCommand(strings.TrimSpace(line)) {
					t.Errorf("%s at %d: a line is %d wide: %s", name, width, w, line)
				}
			}
		}
	}
}

// coloured matches a line of a verdict, which has the only escape sequences of a page.
var coloured = regexp.MustCompile("\x1b\\[1;3[123]m([^\x1b]*)\x1b\\[0m")

func TestColourIsOnTheWholeVerdictAndNothingElse(t *testing.T) {
	p := newPage(80, true)
	p.verdict(severe, "FAIL", strings.Repeat("reason ", 20))
	p.line("more")
	if got := coloured.ReplaceAllString(string(p.bytes()), "<$1>"); !strings.HasPrefix(got, "<FAIL: reason ") || strings.Count(got, "<") != 2 || !strings.HasSuffix(got, "reason>\nmore\n") {
		t.Errorf("%q", got)
	}
	p = newPage(80, true)
	largest().view(p)
	first, rest, _ := strings.Cut(string(p.bytes()), "\n")
	if !coloured.MatchString(first) || strings.ContainsRune(rest, '\x1b') {
		t.Errorf("%q and then\n%s", first, rest)
	}
}

// What scrolls by is not read: the verdict is the last thing there, too.
func TestAPageLongerThanTheScreenEndsWithItsVerdict(t *testing.T) {
	for lines, want := range map[int]int{22: 1, 23: 2} {
		p := newPage(80, false)
		p.height = 24
		p.verdict(warn, "WARNING", "Look.")
		for range lines {
			p.line("one more")
		}
		got := string(p.bytes())
		if strings.Count(got, "WARNING: Look.\n") != want || want == 2 != strings.HasSuffix(got, "\n\nWARNING: Look.\n") {
			t.Errorf("%d lines:\n%s", lines, got)
		}
	}
}

// Rows that are long are cut, the longer list first, and a few of each stay.
func TestTheLargestHealthDocumentIsCut(t *testing.T) {
	d := largest()
	for range 4 {
		d.Flows = append(d.Flows, d.Flows...)
		d.Listening = append(d.Listening, d.Listening...)
	}
	d.Flows, d.Listening = d.Flows[:network.DefaultRows], d.Listening[:network.DefaultRows]
	d.fit()
	if len(d.Flows) != fewestSockets || len(d.Listening) != fewestSockets || !d.FlowsTruncated || !d.ListeningTruncated || d.FlowsTotal != 1e6 {
		t.Errorf("%d flows of %d (cut: %v), %d listeners (cut: %v)", len(d.Flows), d.FlowsTotal, d.FlowsTruncated, len(d.Listening), d.ListeningTruncated)
	}
}

// What a server usually has is all shown, or cut to the bound.
func TestAnOrdinaryHealthDocumentKeepsItsBound(t *testing.T) {
	d := &healthDocument{Connections: &network.Connections{FlowsTotal: 40}}
	for i := range network.DefaultRows {
		d.Flows = append(d.Flows, network.Flow{PID: 4000 + i, ProcessName: "postgres", Source: "192.0.2.10:5432", Destination: "192.0.2.100:49152", Status: network.Established, Protocol: network.TCP})
		d.Listening = append(d.Listening, network.Listener{PID: 4000 + i, ProcessName: "postgres", Address: "0.0.0.0:5432", Protocol: network.TCP, Exposed: true})
	}
	d.fit()
	raw, err := encode(d, false)
	if err != nil || len(raw) > maxHealth || len(d.Flows) < 8 || len(d.Listening) < 8 {
		t.Errorf("%d bytes with %d flows and %d listeners, %v", len(raw), len(d.Flows), len(d.Listening), err)
	}
}

func TestUnitsForPeople(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 103 << 10: "103 KiB", 23<<30 + 1<<29: "23.5 GiB", 1 << 63: "8.0 EiB"} {
		if got := humanize.Bytes(n); got != want {
			t.Errorf("units.Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 min", 59 * time.Minute: "59 min", 90 * time.Minute: "1 h 30 min", 50 * time.Hour: "2 d 2 h"} {
		if got := humanize.Duration(int64(d.Seconds())); got != want {
			t.Errorf("units.Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestASocketWithoutAProcessHasItsUser(t *testing.T) {
	for _, c := range []struct {
		name string
		uid  int
		want string
	}{{"sshd", 0, "sshd"}, {"sshd", 33, "sshd"}, {"", 33, "(UID 33)"}, {"", 0, "-"}} {
		rows := listenerRows([]network.Listener{{ProcessName: c.name, UID: c.uid}})
		if rows[0][1] != c.want {
			t.Errorf("%q of %d: %q, want %q", c.name, c.uid, rows[0][1], c.want)
		}
	}
}
