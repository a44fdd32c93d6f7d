// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/answer"
)

func built(f Facts, rows int) (Report, answer.Gaps) {
	gaps := answer.Gaps{}
	return Build(f, Options{Rows: rows}, &gaps), gaps
}

func TestNothingKnownIsNothingSaid(t *testing.T) {
	got, gaps := built(Facts{}, -1)
	if diff := cmp.Diff(Report{CPU: &CPU{}, ThreatReasons: []Reason{}, Figures: Values{}}, got, cmpopts.IgnoreUnexported(Report{})); diff != "" || len(gaps) != 0 {
		t.Errorf("gaps %v\n%s", gaps, diff)
	}
}

func TestLoadIsTextWithTwoDecimals(t *testing.T) {
	for load, want := range map[float64]string{0: "0.00", 1.25: "1.25", 12.5: "12.50", 0.004: "0.00", 1234.567: "1234.57"} {
		got, _ := built(Facts{Load: &Load{load, 2, 3}}, -1)
		if got.CPULoad != want || *got.CPU.Load1 != load || *got.CPU.Load5 != 2 || *got.CPU.Load15 != 3 {
			t.Errorf("%v: %q, %+v", load, got.CPULoad, got.CPU)
		}
	}
}

func TestMemoryIsThatOfTheContainerWhereThatIsSmaller(t *testing.T) {
	machine := &MemoryFacts{Total: 1000, Available: 400, SwapTotal: 200, SwapFree: 50}
	whole := &Memory{TotalBytes: 1000, UsedBytes: 600, AvailableBytes: 400, UsedPercent: 60}
	limited := &Memory{TotalBytes: 500, UsedBytes: 100, AvailableBytes: 400, UsedPercent: 20, LimitedBy: "cgroup"}
	for name, c := range map[string]struct {
		memory *MemoryFacts
		limits *Limits
		want   *Memory
	}{
		"no container":            {machine, &Limits{}, whole},
		"limits are not known":    {machine, nil, whole},
		"a smaller limit":         {machine, &Limits{MemoryMax: 500, MemoryUsed: 100}, limited},
		"a limit that limits not": {machine, &Limits{MemoryMax: 1000, MemoryUsed: 100}, whole},
		"more used than allowed":  {machine, &Limits{MemoryMax: 500, MemoryUsed: 700}, &Memory{TotalBytes: 500, UsedBytes: 500, UsedPercent: 100, LimitedBy: "cgroup"}},
		"the machine is unknown":  {nil, &Limits{MemoryMax: 500, MemoryUsed: 100}, limited},
		"nothing is known":        {nil, nil, nil},
	} {
		got, _ := built(Facts{Memory: c.memory, Limits: c.limits}, -1)
		if diff := cmp.Diff(c.want, got.Memory); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (got.Swap != nil) != (c.memory != nil) || got.Swap != nil && (got.Swap.UsedBytes != 150 || got.Swap.UsedPercent != 75) {
			t.Errorf("%s: swap %+v", name, got.Swap)
		}
	}
}

func TestMemoryThatIsSharedIsToldFromATenthOn(t *testing.T) {
	for shared, want := range map[uint64]string{0: "", 99: "", 100: ", 100 B of it shared or in a tmpfs"} {
		r, _ := built(Facts{Memory: &MemoryFacts{Total: 1000, Available: 400, Shared: shared}}, -1)
		if got := memory.Text(&r); r.Memory.SharedBytes != shared || got != "600 B of 1000 B used (60.0 %)"+want {
			t.Errorf("%d: %q, %+v", shared, got, r.Memory)
		}
	}
}

func TestMachineWithoutSwapUsesNone(t *testing.T) {
	got, _ := built(Facts{Memory: &MemoryFacts{Total: 3000, Available: 1000}}, -1)
	if diff := cmp.Diff(&Swap{}, got.Swap); diff != "" || got.Memory.UsedPercent != 66.7 {
		t.Errorf("memory %v %%\n%s", got.Memory.UsedPercent, diff)
	}
}

func TestCPULimitOfTheContainerIsShown(t *testing.T) {
	if got, _ := built(Facts{Limits: &Limits{CPUs: 1.505}}, -1); got.CPU.Limit != 1.51 {
		t.Errorf("got %v", got.CPU.Limit)
	}
}

func diskAt(mountpoint string, used, inodes uint64) DiskFacts {
	return DiskFacts{Mountpoint: mountpoint, Device: "/dev/sda1", FileSystem: "ext4", Size: 110, Used: used, Available: 100 - used, Inodes: 100, InodesUsed: inodes}
}

func TestFullestDiskComesFirst(t *testing.T) {
	readOnly := diskAt("/ro", 100, 100)
	readOnly.ReadOnly = true
	noInodes := diskAt("/btrfs", 70, 0)
	noInodes.Inodes = 0
	list := []DiskFacts{diskAt("/b", 50, 1), readOnly, diskAt("/inodes", 5, 93), diskAt("/a", 50, 1), noInodes}
	got, _ := built(Facts{Disks: &list}, -1)
	var names []string
	for _, d := range got.Disks {
		names = append(names, fmt.Sprintf("%s %.0f%%", d.Mountpoint, d.UsedPercent))
	}
	if diff := cmp.Diff([]string{"/inodes 5%", "/btrfs 70%", "/a 50%", "/b 50%", "/ro 100%"}, names); diff != "" {
		t.Error(diff)
	}
	if got.Disks[1].InodesUsedPercent != nil || *got.Disks[0].InodesUsedPercent != 93 {
		t.Errorf("inodes %v and %v", got.Disks[1].InodesUsedPercent, *got.Disks[0].InodesUsedPercent)
	}
	got.Judge(Thresholds{"disk": {Level: Level{90, 99}}})
	if len(got.ThreatReasons) != 1 || *got.ThreatReasons[0].Value != 93 {
		t.Errorf("a full read-only disk is a reason, or inodes are not: %+v", got.ThreatReasons)
	}
}

func TestListsAreCutAndTheirTotalsAreNot(t *testing.T) {
	var disks []DiskFacts
	var units []Unit
	for i := range 50 {
		disks = append(disks, diskAt(fmt.Sprintf("/%02d", i), 50, 1))
		units = append(units, Unit{fmt.Sprintf("%02d.service", i), "x", 0})
	}
	for rows, want := range map[int][2]int{-1: {maxDisks, maxUnits}, 0: {50, 50}, 7: {7, 7}, 99: {50, 50}} {
		got, _ := built(Facts{Disks: &disks, FailedUnits: &units}, rows)
		if len(got.Disks) != want[0] || len(got.FailedUnits) != want[1] || *got.DisksTotal != 50 || *got.FailedUnitsTotal != 50 {
			t.Errorf("%d rows: %d of %d disks, %d of %d units", rows, len(got.Disks), *got.DisksTotal, len(got.FailedUnits), *got.FailedUnitsTotal)
		}
	}
}

func TestFullFileSystemInMemoryIsAReasonAndNoDisk(t *testing.T) {
	tmp, shm, run := diskAt("/tmp", 100, 1), diskAt("/dev/shm", 2, 99), diskAt("/run", 50, 1)
	list := []DiskFacts{diskAt("/", 50, 1), tmp, shm, run}
	for i := range list[1:] {
		list[1+i].InMemory, list[1+i].Device = true, "tmpfs"
	}
	got, _ := built(Facts{Disks: &list}, -1)
	got.Judge(Thresholds{"disk": {Level: Level{85, 95}}})
	var reasons []string
	for _, r := range got.ThreatReasons {
		reasons = append(reasons, r.Code+" "+r.Severity+" "+r.Object)
	}
	if diff := cmp.Diff([]string{"DISK_FULL CRITICAL /tmp", "INODES_FULL CRITICAL /dev/shm"}, reasons); diff != "" || len(got.Disks) != 1 || *got.DisksTotal != 1 {
		t.Errorf("%d disks of %d: %s", len(got.Disks), *got.DisksTotal, diff)
	}
}

func TestInstancesOfOneRowAreAllCounted(t *testing.T) {
	got, _ := built(Facts{FailedUnits: &[]Unit{{Name: "important.service"}, {Name: "knock@1.service", Instances: 250}}}, -1)
	if *got.FailedUnitsTotal != 251 || len(got.FailedUnits) != 2 || got.FailedUnits[1].Instances != 250 {
		t.Errorf("%d: %+v", *got.FailedUnitsTotal, got.FailedUnits)
	}
	if names := unitNames(&got); names != "important.service, knock@1.service (250 instances)" {
		t.Error(names)
	}
}

func TestNoDisksAndNoFailedUnitsAreEmptyLists(t *testing.T) {
	got, _ := built(Facts{Disks: &[]DiskFacts{}, FailedUnits: &[]Unit{}}, -1)
	if got.Disks == nil || got.FailedUnits == nil || *got.DisksTotal != 0 || *got.FailedUnitsTotal != 0 {
		t.Errorf("%v of %v, %v of %v", got.Disks, got.DisksTotal, got.FailedUnits, got.FailedUnitsTotal)
	}
}

func TestDiskThatDoesNotAnswerIsAGapAndNotAnEmptyDisk(t *testing.T) {
	list := []DiskFacts{{Mountpoint: "/dead", Err: fs.ErrPermission}, diskAt("/", 10, 1)}
	if _, gaps := built(Facts{Disks: &[]DiskFacts{{Device: "/dev/sdb1", Err: errors.New("far")}}, FailedUnits: &[]Unit{}}, -1); len(gaps) != 1 || gaps[0].Field != "disks./dev/sdb1" {
		t.Errorf("a disk without a path: %+v", gaps)
	}
	got, gaps := built(Facts{Disks: &list}, -1)
	if len(got.Disks) != 1 || *got.DisksTotal != 2 || len(gaps) != 1 || gaps[0].Field != "disks./dead" {
		t.Errorf("%+v, gaps %v", got.Disks, gaps)
	}
}

func TestGapsOfManyDeadDisksAreBounded(t *testing.T) {
	var list []DiskFacts
	for i := range 1000 {
		list = append(list, DiskFacts{Mountpoint: fmt.Sprintf("/dead/%d", i), Err: errors.New("dead")})
	}
	few := list[:12]
	if _, gaps := built(Facts{Disks: &few}, -1); len(gaps) != 1 || len(gaps[0].Fields()) != len(few) {
		t.Errorf("%+v", gaps)
	}
	if _, gaps := built(Facts{Disks: &list}, -1); len(gaps) != 2 || len(gaps[0].Fields()) != 12 || gaps[1] != (answer.Gap{Field: "disks.others", Reason: "988 more could not be read"}) {
		t.Errorf("%+v", gaps)
	}
	for i := range list {
		list[i].Mountpoint = strings.Repeat("\U0001f600", 60) + list[i].Mountpoint
	}
	if _, gaps := built(Facts{Disks: &list}, -1); answer.Size(gaps) > 700 {
		t.Errorf("%d bytes of gaps", answer.Size(gaps))
	}
}

func TestPressureIsAbsentWhereTheKernelTellsNone(t *testing.T) {
	if got, _ := built(Facts{}, -1); got.Pressure != nil {
		t.Errorf("got %v", got.Pressure)
	}
	got, _ := built(Facts{Pressure: &map[string]PressureFacts{"cpu": {Some: &Averages{1, 2}}, "io": {Some: &Averages{3, 4}, Full: &Averages{5, 6}}}}, -1)
	if cpu, io := got.Pressure["cpu"], got.Pressure["io"]; *cpu.SomeAvg10 != 1 || *cpu.SomeAvg60 != 2 || cpu.FullAvg10 != nil || *io.FullAvg60 != 6 {
		t.Errorf("got %+v", got.Pressure)
	}
}

func TestZeroIsAValue(t *testing.T) {
	no, uptime := false, 0*time.Second
	got, _ := built(Facts{OOMKills: &OOMKills{LastDay: new(uint64(0))}, RebootRequired: &no, Uptime: &uptime}, -1)
	if got.OOMKills == nil || got.OOMKillsLastDay == nil || got.RebootRequired == nil || got.UptimeSeconds == nil {
		t.Errorf("got %+v", got)
	}
}

// What was found is told, and that not all could be looked at: else who makes one thing to be found hides the rest.
func TestWhatMayBeMoreIsTold(t *testing.T) {
	cut, figures := errors.New("too many"), map[string]Reading{}
	for key, err := range map[string]error{CappedUnits: cut, FalseDaemons: fs.ErrPermission, HiddenPrograms: fs.ErrPermission, ZombieProcesses: nil} {
		r, lost := Reading{Value: 3}.OrMore(err)
		if figures[key] = r; lost != nil {
			t.Errorf("%s: %v", key, lost)
		}
	}
	got, gaps := built(Facts{Figures: figures, OOMKills: &OOMKills{SinceBoot: 9, LastDay: new(uint64(1)), More: cut}}, -1)
	want := answer.Gaps{
		{Field: "oom_kills_24h, figures.capped_units", Reason: "perhaps more: too many"},
		{Field: "figures.false_daemons, figures.hidden_programs", Reason: "perhaps more: not readable without root"},
	}
	if diff := cmp.Diff(want, gaps); diff != "" || *got.OOMKillsLastDay != 1 {
		t.Error(diff)
	}
	if diff := cmp.Diff(Values{CappedUnits: 3.0, FalseDaemons: 3.0, HiddenPrograms: 3.0, ZombieProcesses: 3.0}, got.Figures); diff != "" {
		t.Error(diff)
	}
	if _, err := (Reading{}).OrMore(cut); !errors.Is(err, cut) {
		t.Errorf("nothing found is known although not all was looked at: %v", err)
	}
}

// The machine was suspended for up to 20 hours since the first two.
func TestAKillBeforeASuspendHasNoTime(t *testing.T) {
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	kills := OOMKills{LastDay: new(uint64(2)), Kills: []OOMKill{
		{Process: "java", At: 9 * time.Hour, Ago: time.Hour}, {Process: "mysqld", At: 7 * time.Hour, Ago: 3 * time.Hour, Slept: 20 * time.Hour}, {Process: "sshd", At: 5 * time.Hour, Ago: 5 * time.Hour, Slept: 20 * time.Hour},
	}}
	got := Build(Facts{OOMKills: &kills}, Options{Rows: -1, Now: now}, &answer.Gaps{})
	want := []OOMEvent{{Process: "java", Time: "2026-03-05T11:00:00Z", At: 9 * time.Hour}, {Process: "mysqld", At: 7 * time.Hour}}
	if diff := cmp.Diff(want, got.OOMEvents); diff != "" {
		t.Error(diff)
	}
	got.Judge(DefaultThresholds())
	if text := `Processes killed for want of memory in the last 24 hours: 2 ("java" at 2026-03-05T11:00:00Z, "mysqld").`; len(got.ThreatReasons) != 1 || got.ThreatReasons[0].Message != text {
		t.Errorf("%+v", got.ThreatReasons)
	}
}

func TestHostileNamesAreTamed(t *testing.T) {
	const evil = "/\x1b[2J%s%n%!\u202e\u200b" + "\n"
	list := []DiskFacts{{Mountpoint: evil, Device: evil, FileSystem: evil, Size: 100, Used: 99, Available: 1}, {Mountpoint: evil + "dead", Err: errors.New(evil)}}
	units := []Unit{{evil, evil, 0}}
	got, gaps := built(Facts{Disks: &list, FailedUnits: &units, Sensors: &[]Sensor{{"coretemp", "package id " + evil, 50}}}, -1)
	got.Judge(DefaultThresholds())
	texts := []string{got.Disks[0].Mountpoint, got.Disks[0].Device, got.Disks[0].FileSystem, got.FailedUnits[0].Name, got.FailedUnits[0].Description, got.Thermal.Sensor}
	for _, g := range gaps {
		texts = append(texts, g.Field, g.Reason)
	}
	for _, r := range got.ThreatReasons {
		texts = append(texts, r.Message)
	}
	for _, text := range texts {
		if strings.ContainsAny(text, "\x1b\n\u202e\u200b") {
			t.Errorf("%q", text)
		}
	}
	if want := "The file system at \"/�[2J%s%n%!�� \" is 99 % full."; got.ThreatReasons[0].Message != want {
		t.Errorf("got %q, want %q", got.ThreatReasons[0].Message, want)
	}
}
