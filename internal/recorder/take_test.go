// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/processes"
)

// A host is what a sample is taken of, in tests.
type host struct {
	boot      string
	up        time.Duration
	now       time.Time
	cpu       health.CPUSample
	counters  health.Counters
	network   []network.Interface
	rows      []processes.Sample
	failed    []health.Unit
	disk      uint64 // used, of 100
	kills     []health.OOMKill
	resolver  *Resolver
	unitsFail error
	disksFail error
}

// Table implements processes.Source.
func (h *host) Table(context.Context) (processes.Table, error) {
	t := processes.Table{MemoryTotal: 8 << 30}
	for _, s := range h.rows {
		s.Read = time.Now()
		t.Samples = append(t.Samples, s)
	}
	return t, nil
}

// Details implements processes.Source.
func (h *host) Details(_ context.Context, pid int, _ string) (processes.Details, error) {
	return processes.Details{User: fmt.Sprintf("user%d", pid)}, nil
}

func (h *host) sources() Sources {
	s := Sources{
		Processes: h, Boot: func() (string, error) { return h.boot, nil }, Now: func() time.Time { return h.now }, Thresholds: health.DefaultThresholds(),
		Interfaces: func(context.Context) ([]network.Interface, error) { return h.network, nil },
		Health: health.Sources{
			Uptime: func(context.Context) (time.Duration, error) { return h.up, nil },
			Load:   func(context.Context) (health.Load, error) { return health.Load{One: 0.5, Five: 0.4, Fifteen: 0.3}, nil },
			Memory: func(context.Context) (health.MemoryFacts, error) {
				return health.MemoryFacts{Total: 100, Available: 60}, nil
			},
			CPU:         func(context.Context) (health.CPUSample, error) { return h.cpu, nil },
			Counters:    func(context.Context) (health.Counters, error) { return h.counters, nil },
			OOMKills:    func(context.Context) (health.OOMKills, error) { return health.OOMKills{Kills: h.kills}, nil },
			FailedUnits: func(context.Context) ([]health.Unit, error) { return h.failed, h.unitsFail },
			Disks: func(context.Context) ([]health.DiskFacts, error) {
				return []health.DiskFacts{{Mountpoint: "/srv", Size: 100, Used: h.disk, Available: 100 - h.disk}, {Mountpoint: "/ro", Used: 100, ReadOnly: true}}, h.disksFail
			},
		},
	}
	if h.resolver != nil {
		s.Ask = func(context.Context) (*Resolver, error) { return h.resolver, nil }
	}
	return s
}

// take takes a sample, after the machine went on for a while.
func (h *host) take(t *testing.T, before *Last, passed time.Duration) *Last {
	t.Helper()
	h.up, h.now = h.up+passed, h.now.Add(passed)
	last, _, err := Take(t.Context(), h.sources(), before)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func newHost() *host {
	return &host{
		boot: "b1", up: time.Hour, now: time.Unix(1_800_000_000, 0), disk: 50,
		cpu:      health.CPUSample{All: health.CPUTimes{Total: 10_000, Idle: 9_000, Stolen: 10}, Cores: make([]health.CPUTimes, 2), Waiting: 100, Tick: 10 * time.Millisecond},
		counters: health.Counters{DiskRead: new(uint64(1000)), DiskWritten: new(uint64(1000)), Sent: new(uint64(1000)), Resent: new(uint64(0)), OOMKills: new(uint64(3))},
		network:  []network.Interface{{Name: "lo", Loopback: true, BytesIn: 1}, {Name: "eth0", BytesIn: 5000, BytesOut: 6000}, {Name: "eth1", BytesIn: 10, BytesOut: 10}},
		rows: []processes.Sample{
			{PID: 1, Name: "init", Start: "1", CPU: time.Second, MemoryBytes: 12 << 20, State: 'S'}, {PID: 40, Name: "evil\x1b[2J\n" + strings.Repeat("x", 90), Start: "4", MemoryBytes: 900 << 20, State: 'Z'},
		},
	}
}

func kindsOf(l *Last) (list []string) {
	for _, e := range l.Sample.Events {
		list = append(list, strings.TrimSpace(e.Kind+" "+e.Text))
	}
	return list
}

func TestFiguresAreAveragesSinceTheLastSample(t *testing.T) {
	h := newHost()
	first := h.take(t, nil, 0)
	for _, key := range []string{"cpu", "iowait", "disk_read", "network_in", "retransmits"} {
		if v, known := first.Sample.Figures[key]; known {
			t.Errorf("the first sample knows %s: %v", key, v)
		}
	}
	if first.Sample.Span != 0 || len(first.Sample.Busiest) != 0 || len(kindsOf(first)) != 0 {
		t.Errorf("%+v", first.Sample)
	}
	h.cpu.All = health.CPUTimes{Total: 22_000, Idle: 15_000, Stolen: 610}
	h.cpu.Waiting = 1300
	h.counters.DiskRead, h.counters.Sent, h.counters.Resent = new(uint64(1000+60*4096)), new(uint64(2000)), new(uint64(50))
	h.counters.DiskWritten = new(uint64(10)) // set back
	h.network[1].BytesIn, h.network[1].BytesOut = 5000+60*300, 6000+60*20
	h.network[2].BytesIn = 5 // set back
	h.rows[0].CPU += 30 * time.Second
	h.rows = append(h.rows, processes.Sample{PID: 50, Name: "new", Start: "9", CPU: 15 * time.Second, MemoryBytes: 1})
	second := h.take(t, first, time.Minute)
	want := map[string]float64{
		"load": 0.5, "cpu": 50, "iowait": 10, "steal": 5, "memory": 40, "disk": 50, "disk_read": 4096, "network_in": 300, "network_out": 20, "retransmits": 5,
		"processes": 3, "zombies": 1, "failed_units": 0,
	}
	if diff := cmp.Diff(want, second.Sample.Figures); diff != "" {
		t.Error(diff)
	}
	busy := []Process{{1, "init", "user1", 50}, {50, "new", "user50", 25}}
	if diff := cmp.Diff(busy, second.Sample.Busiest, cmp.Transformer("rounded", func(x float64) int { return int(x + 0.5) })); diff != "" {
		t.Error(diff)
	}
	if large := second.Sample.Largest; len(large) != 2 || large[0].PID != 40 || large[0].Value != 900 || strings.ContainsAny(large[0].Name, "\x1b\n") || len([]rune(large[0].Name)) > maxName {
		t.Errorf("%+v", large)
	}
	if second.Sample.Span != 60 || second.Sample.Fullest != "/srv" {
		t.Errorf("%+v", second.Sample)
	}
}

// What has no room in the list of the last sample has not used all its processor time since.
func TestVeryManyProcessesAreMeasured(t *testing.T) {
	h, dir := newHost(), t.TempDir()
	h.rows = nil
	for n := range maxUses + 1000 {
		h.rows = append(h.rows, processes.Sample{PID: 1000 + n, Name: "sleep", Start: "9", CPU: time.Hour, MemoryBytes: 1})
	}
	h.rows = append(h.rows, processes.Sample{PID: 900, Name: "mysqld", Start: "1", CPU: 100 * time.Hour, MemoryBytes: 1})
	if err := h.take(t, nil, 0).Save(dir); err != nil {
		t.Fatal(err)
	}
	last, err := ReadLast(dir)
	if err != nil || len(last.Processes) != maxUses {
		t.Fatal(err)
	}
	h.rows[len(h.rows)-1].CPU += 30 * time.Second
	h.rows[maxUses+500].CPU += 15 * time.Second // is not in the list
	second := h.take(t, last, time.Minute)
	want := []Process{{900, "mysqld", "user900", 50}, {1000 + maxUses + 500, "sleep", fmt.Sprint("user", 1000+maxUses+500), 25}}
	if diff := cmp.Diff(want, second.Sample.Busiest, cmp.Transformer("rounded", func(x float64) int { return int(x + 0.5) })); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsComparedAcrossABoot(t *testing.T) {
	h := newHost()
	first := h.take(t, nil, 0)
	h.boot, h.up = "b2", 30*time.Second
	h.counters.OOMKills = new(uint64(1))
	h.kills = []health.OOMKill{{Process: "mysqld", Unit: "mysql.service", User: "mysql", Ago: 10 * time.Second}}
	second := h.take(t, first, time.Minute)
	if second.Sample.Span != 0 || second.Sample.Figures["cpu"] != 0 || len(second.Sample.Busiest) != 0 {
		t.Errorf("%+v", second.Sample)
	}
	if diff := cmp.Diff([]Event{{Kind: Booted, Ago: 90}, {Kind: OOMKill, Text: `"mysqld" of mysql.service (user mysql)`, Ago: 10}}, second.Sample.Events); diff != "" {
		t.Error(diff)
	}
	h.up = 10 * time.Second // the same boot, and less time: neither can be
	third := h.take(t, second, 0)
	if third.Sample.Span != 0 {
		t.Errorf("%+v", third.Sample)
	}
}

func TestInstancesThatAreFoldedAreNotWell(t *testing.T) {
	h := newHost()
	h.failed = []health.Unit{{Name: "knock@1.service"}, {Name: "knock@2.service"}, {Name: "web.service"}}
	first := h.take(t, nil, 0)
	h.failed = []health.Unit{{Name: "knock@1.service", Instances: 4}}
	second := h.take(t, first, time.Minute)
	if diff := cmp.Diff([]string{"unit_well web.service"}, kindsOf(second)); diff != "" {
		t.Error(diff)
	}
}

func TestAnInstanceThatWasFoldedHasNotFailedNow(t *testing.T) {
	h := newHost()
	h.failed = []health.Unit{{Name: "knock@1.service", Instances: 5}}
	last := h.take(t, nil, 0)
	for _, c := range []struct {
		failed []health.Unit
		want   []string
	}{
		{[]health.Unit{{Name: "knock@2.service", Instances: 4}}, nil},
		{[]health.Unit{{Name: "knock@3.service"}, {Name: "knock@4.service"}}, []string{"unit_well knock@2.service"}},
		{[]health.Unit{{Name: "knock@3.service"}, {Name: "knock@6.service"}}, []string{"unit_failed knock@6.service", "unit_well knock@4.service"}},
	} {
		h.failed = c.failed
		last = h.take(t, last, time.Minute)
		if diff := cmp.Diff(c.want, kindsOf(last)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEventsAreWhatIsNew(t *testing.T) {
	h := newHost()
	h.counters.Installed = h.now.Add(-time.Hour)
	h.failed = []health.Unit{{Name: "old.service"}}
	first := h.take(t, nil, 0)
	if diff := cmp.Diff([]string(nil), kindsOf(first)); diff != "" {
		t.Error(diff)
	}
	h.failed = []health.Unit{{Name: "nginx.service\n\x1b[1m"}}
	h.disk, h.resolver = 97, &Resolver{Server: "192.0.2.53:53", Problem: "did not answer in time"}
	h.counters.OOMKills = new(uint64(5))
	h.kills = []health.OOMKill{{Process: "java", Ago: 20 * time.Second}}
	h.counters.Installed = h.now.Add(30 * time.Second)
	h.now = h.now.Add(time.Hour) // the clock is set
	second := h.take(t, first, time.Minute)
	want := []string{
		`oom_kill "java"`, "clock 3600", "unit_failed nginx.service \ufffd[1m", "unit_well old.service", `reason The file system at "/srv" is 97 % full.`, "packages",
		"oom_kill a process", "reason The resolver of this machine did not answer: 192.0.2.53:53 (did not answer in time).",
	}
	if diff := cmp.Diff(want, kindsOf(second)); diff != "" {
		t.Error(diff)
	}
	h.disk, h.failed, h.unitsFail = 98, nil, errors.New("no answer")
	third := h.take(t, second, time.Minute)
	if diff := cmp.Diff([]string(nil), kindsOf(third)); diff != "" {
		t.Errorf("what stays is told again, or what is not known is taken for gone:\n%s", diff)
	}
	h.disk, h.unitsFail, h.resolver = 50, nil, &Resolver{Server: "192.0.2.53:53", MS: 2}
	fourth := h.take(t, third, time.Minute)
	if diff := cmp.Diff([]string{"unit_well nginx.service \ufffd[1m"}, kindsOf(fourth)); diff != "" {
		t.Errorf("a reason is gone at once:\n%s", diff)
	}
	h.disk = 99 // one comes back meanwhile
	fifth := h.take(t, fourth, time.Minute)
	h.disk = 50
	sixth := h.take(t, fifth, time.Minute)
	silent := "The resolver of this machine did not answer: 192.0.2.53:53 (did not answer in time)."
	if diff := cmp.Diff([]Event{{Kind: ReasonGone, Text: silent, Ago: 180}}, append(fifth.Sample.Events, sixth.Sample.Events...)); diff != "" {
		t.Error(diff)
	}
	if fourth.Sample.Figures["resolver_ms"] != 2 {
		t.Errorf("%+v", fourth.Sample.Figures)
	}
}

// numbered are so many failed units, the newest first.
func numbered(n int) (list []health.Unit) {
	for i := range n {
		list = append(list, health.Unit{Name: fmt.Sprintf("job@%04d.service", n-i)})
	}
	return list
}

func TestUnitsAreComparedHoweverManyHaveFailed(t *testing.T) {
	const cut = maxUnits + 1
	for name, c := range map[string]struct {
		before, after []health.Unit
		want          []string
	}{
		"two more":              {numbered(100), append(numbered(101), health.Unit{Name: "wazuh-agent.service"}), []string{"unit_failed job@0101.service", "unit_failed wazuh-agent.service"}},
		"in another order":      {numbered(150), slices.Concat(numbered(150)[50:], numbered(150)[:50]), nil},
		"cut, and one in front": {numbered(maxUnits), append(numbered(maxUnits), health.Unit{Name: "a.service"}), []string{"unit_failed a.service"}},
		"cut, and one less":     {numbered(cut), numbered(cut)[:maxUnits], []string{"unit_well job@0001.service"}},
		"cut, and one behind":   {numbered(cut), append(numbered(cut), health.Unit{Name: "z.service"}), nil},
		"no longer cut":         {numbered(cut), numbered(cut)[1:], nil},
	} {
		h := newHost()
		h.failed = c.before
		first := h.take(t, nil, 0)
		h.failed = c.after
		second := h.take(t, first, time.Minute)
		if diff := cmp.Diff(c.want, kindsOf(second)); diff != "" || second.Sample.Figures["failed_units"] != float64(len(c.after)) {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A reason that stands is not gone because there are more than are kept.
func TestAReasonStandsHoweverManyThereAre(t *testing.T) {
	h := newHost()
	h.disk = 97
	first := h.take(t, nil, 0)
	s := h.sources()
	s.Health.Disks = func(context.Context) ([]health.DiskFacts, error) {
		list := []health.DiskFacts{{Mountpoint: "/srv", Size: 100, Used: 97, Available: 3}}
		for n := range 2 * maxReasons {
			list = append(list, health.DiskFacts{Mountpoint: fmt.Sprintf("/full%03d", n), Size: 100, Used: 99, Available: 1})
		}
		return list, nil
	}
	last, told := first, map[string]bool{}
	for n := range maxReasons/maxEvents + away + 1 { // each has room for some
		h.up, h.now = h.up+time.Minute, h.now.Add(time.Minute)
		next, _, err := Take(t.Context(), s, last)
		if err != nil {
			t.Fatal(err)
		}
		last = next
		for _, e := range last.Sample.Events {
			if told[e.Text] || e.Kind != Reason || !strings.Contains(e.Text, "/full") {
				t.Errorf("sample %d: %s %s", n, e.Kind, e.Text)
			}
			told[e.Text] = true
		}
	}
	if len(told) != maxReasons {
		t.Errorf("%d told", len(told))
	}
}

// However long something cannot be read, and whether the machine was started meanwhile: it is not gone.
func TestAReasonStandsWhileItCannotBeRead(t *testing.T) {
	h := newHost()
	h.disk = 97
	last := h.take(t, nil, 0)
	h.disksFail = errors.New("no answer")
	var got []string
	for range 4 {
		last = h.take(t, last, time.Minute)
		got = append(got, kindsOf(last)...)
	}
	h.boot, h.up, h.counters.OOMKills = "b2", time.Minute, new(uint64(0))
	for range 2 {
		last = h.take(t, last, time.Minute)
		got = append(got, kindsOf(last)...)
	}
	h.disksFail = nil
	last = h.take(t, last, time.Minute)
	got = append(got, kindsOf(last)...)
	h.disk = 50
	for range away {
		last = h.take(t, last, time.Minute)
		got = append(got, kindsOf(last)...)
	}
	if diff := cmp.Diff([]string{"boot", `reason_gone The file system at "/srv" is 97 % full.`}, got); diff != "" {
		t.Error(diff)
	}
}

// A user can have as many processes killed as they like, called what they like.
func TestKillsOfAUserPushOutNothing(t *testing.T) {
	h := newHost()
	first := h.take(t, nil, 0)
	for n := range 40 {
		h.kills = append(h.kills, health.OOMKill{Process: fmt.Sprintf("python%d", 3+n%20), Unit: "user@1001.service", User: "mallory", Ago: time.Duration(n) * time.Second})
	}
	h.kills = append(h.kills, health.OOMKill{Process: "mysqld", Unit: "mysql.service", User: "mysql", Ago: 50 * time.Second})
	h.kills = append(h.kills, health.OOMKill{Process: "redis", User: "redis", Ago: 50 * time.Second, Slept: 8 * time.Hour})
	h.counters.OOMKills = new(uint64(3 + 42 + 7)) // of which seven are not in the log
	h.disk, h.failed = 97, []health.Unit{{Name: "auditd.service"}, {Name: "mysql.service"}}
	second := h.take(t, first, time.Minute)
	want := []Event{
		{Kind: OOMKill, Text: `"python3" of user@1001.service (user mallory)`, Times: 2}, {Kind: UnitFailed, Text: "auditd.service"}, {Kind: Reason, Text: `The file system at "/srv" is 97 % full.`},
		{Kind: OOMKill, Text: `"python4" of user@1001.service (user mallory)`, Ago: 1, Times: 2}, {Kind: UnitFailed, Text: "mysql.service"},
		{Kind: OOMKill, Text: `"python5" of user@1001.service (user mallory)`, Ago: 2, Times: 2}, {Kind: OOMKill, Text: "another process (user mallory)", Ago: 3, Times: 34},
		{Kind: OOMKill, Text: `"mysqld" of mysql.service (user mysql)`, Ago: 50}, {Kind: OOMKill, Text: `"redis" (user redis)`}, {Kind: OOMKill, Text: "a process", Times: 7},
	}
	if diff := cmp.Diff(want, second.Sample.Events); diff != "" || second.Sample.More != 0 {
		t.Error(diff)
	}
}

// What has no room in one sample is told with the next, with when it was, also after a power cut.
func TestEventsThatDoNotFitWait(t *testing.T) {
	h := newHost()
	first := h.take(t, nil, 0)
	h.disk = 97
	for n := range 30 {
		h.failed = append(h.failed, health.Unit{Name: fmt.Sprintf("unit-%02d.service", n)})
	}
	taken := []*Last{first}
	for len(taken) < 5 {
		taken = append(taken, h.take(t, taken[len(taken)-1], time.Minute))
	}
	if e := taken[1].Sample.Events[1]; e.Kind != Reason {
		t.Errorf("units that failed push out the reason: %+v", taken[1].Sample.Events)
	}
	told := map[string]float64{}
	for i, l := range taken {
		if len(l.Sample.Events) > maxEvents || l.Sample.More != 0 {
			t.Errorf("%+v", l.Sample)
		}
		for _, e := range l.Sample.Events {
			told[e.Text] = float64(60*i) - e.Ago
		}
	}
	for _, u := range h.failed {
		if told[u.Name] != 60 {
			t.Errorf("%s failed at %v s", u.Name, told[u.Name])
		}
	}
	if len(told) != 31 || len(taken[4].Sample.Events) != 0 {
		t.Errorf("%d told, %+v", len(told), taken[4].Sample.Events)
	}
	sources := h.sources()
	sources.Unsaved = &taken[2].Sample
	h.up, h.now = h.up-time.Minute, h.now.Add(-time.Minute) // as at the sample after that
	again, _, err := Take(t.Context(), sources, taken[1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kindsOf(taken[3]), kindsOf(again)); diff != "" {
		t.Error(diff)
	}
}

// Between the ring and what the next sample is compared with there may be a power cut: the next sample finds
// the same events again, and tells those alone that are new.
func TestEventsOfASampleThatWasNotSavedAreToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		reboot bool
		times  int
		want   []string
	}{
		"the program was killed": {false, 2, []string{`oom_kill "mysqld"`, "unit_failed b.service"}},
		"the machine went off":   {true, 0, []string{"boot", `oom_kill "mysqld"`, "unit_failed b.service"}},
	} {
		ring, h := newRing(t), newHost()
		first := h.take(t, nil, 0)
		ring.mustAppend(t, first.Sample)
		if got := ring.Unsaved(first); got != nil {
			t.Errorf("%s: %+v was saved", name, got)
		}
		h.failed, h.disk = []health.Unit{{Name: "a.service"}}, 97
		h.counters.OOMKills, h.kills = new(uint64(4)), []health.OOMKill{{Process: "mysqld"}}
		second := h.take(t, first, time.Minute)
		if got := kindsOf(second); !cmp.Equal(got, []string{`oom_kill "mysqld"`, "unit_failed a.service", `reason The file system at "/srv" is 97 % full.`}) {
			t.Errorf("%s: %q", name, got)
		}
		ring.mustAppend(t, second.Sample) // and no more
		h.failed, h.disk = append(h.failed, health.Unit{Name: "b.service"}), 98
		h.counters.OOMKills, h.kills = new(uint64(6)), []health.OOMKill{{Process: "mysqld"}, {Process: "mysqld"}, {Process: "mysqld"}}
		if c.reboot {
			h.boot, h.up, h.counters.OOMKills = "b2", time.Minute, new(uint64(1))
		}
		sources := h.sources()
		sources.Unsaved = ring.Unsaved(first)
		h.up, h.now = h.up+time.Minute, h.now.Add(time.Minute)
		third, _, err := Take(t.Context(), sources, first)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, kindsOf(third)); diff != "" || sources.Unsaved == nil {
			t.Errorf("%s: %s", name, diff)
		}
		if kill := third.Sample.Events[len(c.want)-2]; kill.Times != c.times {
			t.Errorf("%s: %+v", name, kill)
		}
	}
}

func TestOnlyANewerSampleWasNotSaved(t *testing.T) {
	r := newRing(t)
	last := &Last{Version: 1, Sample: sampleAt(5)}
	if r.Unsaved(last) != nil {
		t.Error("an empty ring has one")
	}
	for n, want := range map[int]bool{4: false, 5: false, 6: true} {
		r.mustAppend(t, sampleAt(n))
		if got := r.Unsaved(last); (got != nil) != want || got != nil && got.Time != sampleAt(n).Time {
			t.Errorf("%d after 5: %+v", n, got)
		}
	}
	if r.Unsaved(nil) != nil {
		t.Error("without a last one")
	}
	r.mustAppend(t, sampleAt(6))
	f, err := os.OpenFile(r.path(1), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("00000000 7 {\"t\":18"); err != nil {
		t.Fatal(err)
	}
	if got := r.Unsaved(last); got != nil {
		t.Errorf("behind a line that was cut off: %+v", got)
	}
}

func TestASystemThatMeasuresItselfIsAskedTwice(t *testing.T) {
	h := newHost()
	s, asked := h.sources(), 0
	var first context.Context
	s.Health.CPU = func(ctx context.Context) (health.CPUSample, error) {
		if asked++; asked == 1 {
			first = ctx
			return health.CPUSample{}, nil
		}
		if first.Err() != nil {
			return health.CPUSample{}, first.Err()
		}
		return health.CPUSample{Share: &health.CPUShare{Percent: 12.5, Cores: 8, Window: time.Second}}, nil
	}
	last, _, err := Take(t.Context(), s, nil)
	if err != nil || last.Sample.Figures["cpu"] != 12.5 || asked != 2 {
		t.Errorf("%+v, asked %d times, %v", last, asked, err)
	}
}

func TestAContainerIsMeasuredByItsGroup(t *testing.T) {
	h := newHost()
	h.cpu = health.CPUSample{Container: true, Used: time.Hour, Capacity: 2, Count: 4}
	first := h.take(t, nil, 0)
	h.cpu.Used += time.Minute
	if second := h.take(t, first, time.Minute); second.Sample.Figures["cpu"] != 50 {
		t.Errorf("%+v", second.Sample.Figures)
	}
	h.cpu.Used = 0
	if second := h.take(t, first, time.Minute); second.Sample.Figures["cpu"] != 0 {
		t.Errorf("a counter that was set back: %+v", second.Sample.Figures)
	}
}

func TestASampleKnowsWhetherItsClockWasRight(t *testing.T) {
	for name, c := range map[string]struct {
		read health.Reader
		want bool
	}{
		"synchronized":   {func(context.Context) (health.Reading, error) { return health.Reading{}, nil }, true},
		"unsynchronized": {func(context.Context) (health.Reading, error) { return health.Reading{Value: 1}, nil }, false},
		"not known":      {func(context.Context) (health.Reading, error) { return health.Reading{}, errors.New("not permitted") }, false},
		"no such source": {nil, false},
	} {
		s := newHost().sources()
		s.Health.Figures = map[string]health.Reader{health.ClockUnsynchronized: c.read}
		if last, _, err := Take(t.Context(), s, nil); err != nil || last.Sample.Right != c.want {
			t.Errorf("%s: %+v, %v", name, last, err)
		}
	}
}

func TestWithoutAnOrderThereIsNoSample(t *testing.T) {
	h := newHost()
	for name, spoil := range map[string]func(*Sources){
		"boot": func(s *Sources) { s.Boot = func() (string, error) { return "", errors.New("no process 1") } },
		"uptime": func(s *Sources) {
			s.Health.Uptime = func(context.Context) (time.Duration, error) { return 0, errors.New("no /proc") }
		},
	} {
		s := h.sources()
		spoil(&s)
		if _, _, err := Take(t.Context(), s, nil); fault.From(err).Code != fault.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLastSampleIsKept(t *testing.T) {
	dir := t.TempDir()
	h := newHost()
	want := h.take(t, nil, 0)
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLast(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if age, known := got.Age("b1", time.Hour+45*time.Second); age != 45*time.Second || !known {
		t.Errorf("%v, %v", age, known)
	}
	if age, known := got.Age("b1", time.Hour); age != 0 || !known {
		t.Errorf("in the same tick of the clock: %v, %v", age, known)
	}
	for _, boot := range []string{"", "b2"} {
		if _, known := got.Age(boot, 2*time.Hour); known {
			t.Errorf("%q", boot)
		}
	}
	if _, known := (*Last)(nil).Age("b1", time.Hour); known {
		t.Error("there is none")
	}
}

func FuzzUses(f *testing.F) {
	for _, text := range []string{"", "1 b.1 100,", "1 b.1 100,812 b.99 1605,", "1", "1 b -5", "1 b 99999999999999999", ",,", "x y z"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var u, again Uses
		if u.UnmarshalText(text) != nil {
			return
		}
		written, err := u.MarshalText()
		if err != nil || again.UnmarshalText(written) != nil || !cmp.Equal(u, again) {
			t.Errorf("%q reads as %v, which is %q", text, u, written)
		}
	})
}
