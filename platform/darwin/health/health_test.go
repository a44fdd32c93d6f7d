// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/health"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func mac(t *testing.T, dirs ...string) *source {
	t.Helper()
	runner, err := replay.OpenMachine(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return &source{Mac: Mac{Runner: runner, EUID: 501, Now: func() time.Time { return time.Unix(1758552252+90061, 0) }}}
}

func TestValuesOfTheKernel(t *testing.T) {
	v := mac(t, "testdata/silicon")
	if l, err := v.load(t.Context()); err != nil || l != (health.Load{One: 4.22, Five: 2.85, Fifteen: 2.61}) {
		t.Errorf("load %v, %v", l, err)
	}
	if up, err := v.uptime(t.Context()); err != nil || up != 25*time.Hour+time.Minute {
		t.Errorf("up for %v, %v", up, err)
	}
	if !v.appleSilicon(t.Context()) {
		t.Error("it is Apple silicon")
	}
	m, err := v.memory(t.Context())
	want := health.MemoryFacts{
		Total: 16 << 30, Available: 16<<30 - 703000*16384, SwapTotal: 3 << 30, SwapFree: 3<<30 - 1491861504, SwapGrows: true, Pressure: health.PressureWarning,
	}
	if diff := cmp.Diff(want, m); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestTheClockBeforeTheStartTellsNoUptime(t *testing.T) {
	v := mac(t, "testdata/silicon")
	v.Now = func() time.Time { return time.Unix(1, 0) }
	if up, err := v.uptime(t.Context()); !errors.Is(err, errClock) {
		t.Errorf("%v, %v", up, err)
	}
}

func TestCPUIsTheSecondSampleOfTop(t *testing.T) {
	v := mac(t, "testdata/silicon")
	before, err := v.cpu(t.Context())
	if err != nil || before.Share != nil {
		t.Fatalf("%+v, %v", before, err)
	}
	after, err := v.cpu(t.Context())
	if err != nil || fmt.Sprintf("%.2f", after.Share.Percent) != "12.27" || after.Share.Cores != 10 || after.Share.Window != time.Second {
		t.Errorf("%+v, %v", after.Share, err)
	}
}

func TestDisks(t *testing.T) {
	got, err := mac(t, "testdata/silicon").disks(t.Context())
	want := []health.DiskFacts{
		{Mountpoint: "/System/Volumes/Data", Device: "/dev/disk3s5", FileSystem: "apfs", Size: 482797652 << 10, Used: 389021696 << 10, Available: 73400320 << 10},
		{Mountpoint: "/Volumes/My Backup", Device: "/dev/disk6s2", FileSystem: "apfs", Size: 976490576 << 10, Used: 276490576 << 10, Available: 700000000 << 10},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got, err = mac(t, "testdata/intel").disks(t.Context())
	if err != nil || len(got) != 1 || got[0].Mountpoint != "/" || got[0].Size != 488245288<<10 {
		t.Errorf("a system on one volume: %+v, %v", got, err)
	}
}

// Facts that macOS does not have must not appear as unavailable; facts that it has but does not
// report must.
func TestWhatMacOSDoesNotHaveIsNoGap(t *testing.T) {
	runner := mac(t, "testdata/silicon").Runner
	var gaps answer.Gaps
	facts := health.Collect(t.Context(), Sources(Mac{Runner: runner, Now: time.Now}), &gaps)
	var missing []string
	for _, g := range gaps {
		missing = append(missing, g.Fields()...)
	}
	if !slices.Equal(missing, []string{"temperature", "thermal.pressure_level", "restarting_units", "figures.clock_unsynchronized", "figures.clock_offset_seconds", "figures.zombie_processes"}) { // neither child nor pmset nor launchctl nor ps is recorded
		t.Errorf("missing are %v", gaps)
	}
	if facts.Pressure != nil || facts.OOMKills != nil || facts.FailedUnits != nil || facts.Memory == nil || facts.Disks == nil {
		t.Errorf("%+v", facts)
	}
}

// always is a Runner with the same result for every program.
type always struct {
	sysexec.Result
	err error
}

func (a always) Run(context.Context, sysexec.Command) (sysexec.Result, error) { return a.Result, a.err }

func TestFailures(t *testing.T) {
	for name, a := range map[string]always{
		"missing": {err: errors.New("no such file")}, "hanging": {err: context.DeadlineExceeded}, "empty": {},
		"refused": {Result: sysexec.Result{Exit: 1, Stderr: []byte("Operation not permitted\n")}},
		"noise":   {Result: sysexec.Result{Stdout: []byte("2026-01-01 12:00:00 noise\n")}},
		"cut":     {Result: sysexec.Result{Stdout: []byte("Filesystem 1024-blocks Used Available Capacity iused ifree %iused Mounted on\n/dev/disk1s1 48824")}},
	} {
		v := &source{Mac: Mac{Runner: a, Now: time.Now}}
		_, loadErr := v.load(t.Context())
		_, memoryErr := v.memory(t.Context())
		_, disksErr := v.disks(t.Context())
		_, uptimeErr := v.uptime(t.Context())
		_, restartingErr := v.restarting(t.Context())
		v.cpu(t.Context())
		_, cpuErr := v.cpu(t.Context())
		for fact, err := range map[string]error{"load": loadErr, "memory": memoryErr, "disks": disksErr, "uptime": uptimeErr, "restarting": restartingErr, "cpu": cpuErr} {
			if err == nil {
				t.Errorf("%s: %s without an error", name, fact)
			}
		}
		if v.appleSilicon(t.Context()) {
			t.Errorf("%s: it is not known to be Apple silicon", name)
		}
	}
}

func TestBusy(t *testing.T) {
	const first = "CPU usage: 1.0% user, 1.0% sys, 98.0% idle \n"
	for text, want := range map[string]float64{
		first + "CPU usage: 25.5% user, 24.5% sys, 50.0% idle \n": 50, first + "CPU usage: 0.0% user, 0.0% sys, 100.1% idle\n": 0,
	} {
		if got, err := busy([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", first, first + "CPU usage: cut", first + "CPU usage: 1% user, x% idle\n", first + "CPU usage: 1% user, NaN% idle\n", first + "CPU usage: 1,5% idle\n" + "CPU usage: 1% user, 200% idle"} {
		if got, err := busy([]byte(text)); err == nil {
			t.Errorf("%q is %v without an error", text, got)
		}
	}
}

func TestRecordedOutputs(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "df") {
		list, err := parseDF(r.Raw)
		switch {
		case !strings.Contains(string(r.Raw), "-blocks "): // sizes with units
			if !errors.Is(err, errDF) {
				t.Errorf("%s: %+v, %v", r.Name, list, err)
			}
		case err != nil || len(list) == 0 || list[0].Mountpoint != "/" || list[0].Size < 1<<30 || list[0].Used > list[0].Size:
			t.Errorf("%s: %+v, %v", r.Name, list, err)
		}
		if r.Name == "512-mojave.txt" && (len(list) != 3 || list[2].Mountpoint != "/Volumes/InstallESD" || list[0].Used != 302197928*512) {
			t.Errorf("%s: %+v", r.Name, list)
		}
	}
	for _, r := range testenv.RecordedOutputs(t, "top") { // with one sample, repeated to make two
		percent, err := busy(slices.Concat(r.Raw, []byte("\n"), r.Raw))
		if idle := fmt.Sprintf("%.2f%% idle", 100-percent); err != nil || !strings.Contains(string(r.Raw), strings.Replace(idle, ".00%", ".0%", 1)) && !strings.Contains(string(r.Raw), idle) {
			t.Errorf("%s: %v, %v", r.Name, percent, err)
		}
		if _, err := busy(r.Raw); !errors.Is(err, errBusy) {
			t.Errorf("%s: one sample is taken for a measurement", r.Name)
		}
	}
}

func FuzzDisks(f *testing.F) {
	f.Add("Filesystem 1024-blocks Used Available Capacity iused ifree %iused Mounted on\n/dev/disk1s1 3 1 2 33% 1 2 3% /a b\n")
	f.Add("CPU usage: 1.0% user, 1.0% sys, 98.0% idle \n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseDF([]byte(text))
		for _, d := range list {
			if err != nil || !strings.HasPrefix(d.Mountpoint, "/") {
				t.Errorf("accepted %+v", d)
			}
		}
		if percent, err := busy([]byte(text)); err == nil && (percent < 0 || percent > 100) {
			t.Errorf("accepted %v", percent)
		}
	})
}
