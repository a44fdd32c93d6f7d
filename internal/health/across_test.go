// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
	"time"

	"sentinel/internal/answer"
)

func TestUseIsMeasuredAcrossRuns(t *testing.T) {
	before := sample(time.Hour, CPUTimes{1000, 800, 0}, CPUTimes{1000, 800, 0})
	after := sample(100*time.Millisecond, CPUTimes{1100, 850, 0}, CPUTimes{1100, 850, 0})
	first, second := Across(before, after, time.Second)
	if got, gaps := used(first, second); got.Percent == nil || *got.Percent != 40 || len(gaps) != 0 { // less what this run has used, and nothing of the other
		t.Errorf("%+v, %v", got, gaps)
	}
	if !before.Spans() || (CPUSample{}).Spans() {
		t.Error("a sample without times has none to compare with")
	}
	for name, c := range map[string]struct {
		before, after CPUSample
		want          float64 // below 0 is unknown
	}{
		"half":             {CPUSample{Container: true, Used: time.Hour, Capacity: 2}, CPUSample{Container: true, Used: time.Hour + 10*time.Second, Capacity: 2}, 50},
		"all":              {CPUSample{Container: true}, CPUSample{Container: true, Used: time.Hour, Capacity: 2}, 100},
		"set back":         {CPUSample{Container: true, Used: time.Hour}, CPUSample{Container: true, Used: time.Minute, Capacity: 2}, -1},
		"before no group":  {before, CPUSample{Container: true, Used: time.Minute, Capacity: 2}, -1},
		"without capacity": {CPUSample{Container: true}, CPUSample{Container: true, Used: time.Second}, -1},
	} {
		c.after.Tick = 1
		first, second := Across(c.before, c.after, 10*time.Second)
		r, gaps := Report{CPU: &CPU{}}, answer.Gaps{}
		r.UseCPU(first, second, 10_000, &gaps)
		if p := r.CPU.Percent; c.want < 0 && p != nil || c.want >= 0 && (p == nil || *p != c.want) {
			t.Errorf("%s: %v, %v", name, p, gaps)
		}
	}
}

func TestWaitedAndStolenShares(t *testing.T) {
	at := func(total, stolen, waiting uint64) CPUSample {
		return CPUSample{All: CPUTimes{Total: total, Stolen: stolen}, Waiting: waiting}
	}
	for name, c := range map[string]struct {
		after          CPUSample
		waited, stolen float64 // below 0 is unknown
	}{
		"some":         {at(2000, 60, 350), 25, 1},
		"none":         {at(2000, 50, 100), 0, 0},
		"set back":     {at(2000, 40, 90), -1, -1},
		"no time":      {at(1000, 60, 350), -1, -1},
		"more than is": {at(1100, 5000, 5000), 100, 100},
	} {
		before := at(1000, 50, 100)
		for _, share := range []struct {
			of   func(before, after CPUSample) (float64, bool)
			want float64
		}{{WaitedPercent, c.waited}, {StolenPercent, c.stolen}} {
			if got, ok := share.of(before, c.after); ok != (share.want >= 0) || ok && got != share.want {
				t.Errorf("%s: %v, %v, want %v", name, got, ok, share.want)
			}
		}
	}
}
