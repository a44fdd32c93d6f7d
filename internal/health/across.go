// SPDX-License-Identifier: Apache-2.0

package health

import "time"

// Across prepares samples that two runs of sentinel took, elapsed apart, for [Report.UseCPU].
func Across(before, after CPUSample, elapsed time.Duration) (first, second CPUSample) {
	before.Own = 0 // all that this run has used is its own
	if !after.Container {
		return before, after
	}
	before.All, after.All = CPUTimes{}, CPUTimes{}
	if used := after.Used - before.Used; used >= 0 && before.Container {
		total := time.Duration(float64(elapsed) * after.Capacity)
		after.All = CPUTimes{Total: uint64(total), Idle: uint64(max(0, total-used))}
	}
	return before, after
}

// Spans reports whether s can be the first of two samples of different runs.
func (s CPUSample) Spans() bool { return s.Container || s.All.Total > 0 }

// WaitedPercent is the share of time in which cores were idle while a task waited for a disk. It is not
// ok if the counters did not move forward.
func WaitedPercent(before, after CPUSample) (percent float64, ok bool) {
	return shareOf(before.Waiting, after.Waiting, before.All, after.All)
}

// StolenPercent is the share of time that the host of this machine gave to others, as WaitedPercent.
func StolenPercent(before, after CPUSample) (percent float64, ok bool) {
	return shareOf(before.All.Stolen, after.All.Stolen, before.All, after.All)
}

func shareOf(first, second uint64, before, after CPUTimes) (float64, bool) {
	if after.Total <= before.Total || second < first {
		return 0, false
	}
	return round(min(100, 100*float64(second-first)/float64(after.Total-before.Total)), 1), true
}
