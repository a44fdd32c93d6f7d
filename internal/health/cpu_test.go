// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

func sample(own time.Duration, all CPUTimes, cores ...CPUTimes) CPUSample {
	return CPUSample{All: all, Cores: cores, Own: own, Tick: 10 * time.Millisecond}
}

func used(before, after CPUSample) (*CPU, answer.Gaps) {
	r, gaps := Report{CPU: &CPU{}}, answer.Gaps{}
	r.UseCPU(before, after, 500, &gaps)
	return r.CPU, gaps
}

func TestCPUIsWhatWasNotIdleWithoutSentinelItself(t *testing.T) {
	before := sample(time.Second, CPUTimes{1000, 800, 0}, CPUTimes{500, 400, 0}, CPUTimes{500, 400, 0})
	after := sample(time.Second+100*time.Millisecond, CPUTimes{1100, 850, 0}, CPUTimes{550, 445, 0}, CPUTimes{550, 405, 0})
	got, gaps := used(before, after)
	percent := 40.0 // 50 of 100 ticks, less 10 of sentinel's
	want := &CPU{Percent: &percent, PerCore: []float64{10, 90}, Cores: 2, WindowMS: 500}
	if diff := cmp.Diff(want, got); diff != "" || len(gaps) != 0 {
		t.Errorf("gaps %v\n%s", gaps, diff)
	}
}

func TestCPUStaysBetweenNothingAndAll(t *testing.T) {
	for name, c := range map[string]struct {
		after CPUSample
		want  float64
	}{
		"idle":                          {sample(0, CPUTimes{1100, 900, 0}, CPUTimes{1100, 900, 0}), 0},
		"a third":                       {sample(0, CPUTimes{1300, 1000, 0}, CPUTimes{1300, 1000, 0}), 33.3},
		"busy":                          {sample(0, CPUTimes{1100, 800, 0}, CPUTimes{1100, 800, 0}), 100},
		"less than sentinel used":       {sample(time.Second, CPUTimes{1100, 890, 0}, CPUTimes{1100, 890, 0}), 0},
		"waiting ran back while busy":   {sample(0, CPUTimes{1090, 790, 0}, CPUTimes{1090, 790, 0}), 100},
		"more idle than there was time": {sample(0, CPUTimes{1100, 999, 0}, CPUTimes{1100, 999, 0}), 0},
	} {
		got, gaps := used(sample(0, CPUTimes{1000, 800, 0}, CPUTimes{1000, 800, 0}), c.after)
		if got.Percent == nil || *got.Percent != c.want || len(gaps) != 0 {
			t.Errorf("%s: %v, want %v, gaps %v", name, got.Percent, c.want, gaps)
		}
	}
}

func TestCPUThatCannotBeToldIsAGapAndNotZero(t *testing.T) {
	before := sample(0, CPUTimes{1000, 800, 0}, CPUTimes{500, 400, 0}, CPUTimes{500, 400, 0})
	for name, c := range map[string]struct {
		after CPUSample
		want  []string
	}{
		"no tick passed":       {before, []string{"cpu.percent", "cpu.per_core"}},
		"counters ran back":    {sample(0, CPUTimes{900, 700, 0}, CPUTimes{450, 350, 0}, CPUTimes{450, 350, 0}), []string{"cpu.percent", "cpu.per_core"}},
		"idle began anew":      {sample(0, CPUTimes{1100, 10, 0}, CPUTimes{550, 5, 0}, CPUTimes{550, 5, 0}), []string{"cpu.percent", "cpu.per_core"}},
		"a core went offline":  {sample(0, CPUTimes{1100, 850, 0}, CPUTimes{550, 450, 0}), []string{"cpu.per_core"}},
		"a core is another's":  {sample(0, CPUTimes{1100, 850, 0}, CPUTimes{550, 450, 0}, CPUTimes{20, 10, 0}), []string{"cpu.per_core"}},
		"a core was not there": {sample(0, CPUTimes{1100, 850, 0}, CPUTimes{550, 450, 0}, CPUTimes{550, 450, 0}, CPUTimes{9, 9, 0}), []string{"cpu.per_core"}},
	} {
		got, gaps := used(before, c.after)
		var fields []string
		for _, g := range gaps {
			fields = append(fields, g.Field)
		}
		if diff := cmp.Diff(c.want, fields); diff != "" || got.PerCore != nil || (got.Percent == nil) != (len(c.want) == 2) {
			t.Errorf("%s: %+v\n%s", name, got, diff)
		}
	}
}

func TestCoresAreCutAndCounted(t *testing.T) {
	before, after := sample(0, CPUTimes{1000, 0, 0}), sample(0, CPUTimes{2000, 0, 0})
	for range maxCores + 5 {
		before.Cores = append(before.Cores, CPUTimes{10, 0, 0})
		after.Cores = append(after.Cores, CPUTimes{60, 25, 0})
	}
	whole, _ := used(sample(0, CPUTimes{1000, 0, 0}, before.Cores[:maxCores]...), sample(0, CPUTimes{2000, 0, 0}, after.Cores[:maxCores]...))
	if len(whole.PerCore) != maxCores || whole.Truncated {
		t.Errorf("%d rows, truncated %v", len(whole.PerCore), whole.Truncated)
	}
	got, _ := used(before, after)
	if got.Cores != maxCores+5 || len(got.PerCore) != maxCores || !got.Truncated || got.PerCore[0] != 50 {
		t.Errorf("%d cores, %d rows, truncated %v", got.Cores, len(got.PerCore), got.Truncated)
	}
}

func FuzzBusy(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint64(1<<64-1), uint64(1<<63), 0.0)
	f.Add(uint64(1000), uint64(800), uint64(1100), uint64(850), 10.0)
	f.Fuzz(func(t *testing.T, total0, idle0, total1, idle1 uint64, own float64) {
		if own != own || own < 0 || own > 1e12 {
			own = 0
		}
		p, ok := busy(CPUTimes{total0, idle0, 0}, CPUTimes{total1, idle1, 0}, own)
		if !(p >= 0 && p <= 100) || !ok && p != 0 {
			t.Errorf("%v, %v", p, ok)
		}
	})
}

// What the host gives to others is told where it is any, and is a reason with nobody here behind it.
func TestStolenTime(t *testing.T) {
	before := CPUSample{All: CPUTimes{1000, 800, 50}}
	for name, c := range map[string]struct {
		after CPUTimes
		want  float64
	}{"none": {CPUTimes{1100, 850, 50}, 0}, "a third": {CPUTimes{1300, 850, 150}, 33.3}, "ran back": {CPUTimes{1100, 850, 40}, 0}, "no time": {CPUTimes{1000, 800, 60}, 0}} {
		r := Report{CPU: &CPU{}}
		r.UseCPU(before, CPUSample{All: c.after}, 500, &answer.Gaps{})
		switch got := r.CPU.Stolen; {
		case got == nil && c.want != 0, got != nil && *got != c.want:
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	r := Report{CPU: &CPU{Stolen: new(33.3)}}
	r.Judge(DefaultThresholds())
	if len(r.ThreatReasons) != 1 || r.ThreatReasons[0].Code != "CPU_STOLEN" || r.ThreatReasons[0].Severity != Warning || !strings.HasPrefix(r.ThreatReasons[0].Culprit, "the host: ") {
		t.Errorf("%+v", r.ThreatReasons)
	}
}
