// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

// busy sets what all processes have used.
func busy(t Table, used time.Duration) Table {
	t.Busy = used
	return t
}

func TestWhatEndedProcessesUsedIsSaid(t *testing.T) {
	const ms = time.Millisecond
	const ended = " of a core within the window, and have no row"
	for name, c := range map[string]struct {
		before, after Table
		want          float64 // 0 is absent
		reason        string
	}{
		"a relay": {
			busy(table(began, Sample{PID: 1, Reaped: time.Hour}), time.Hour), busy(table(began.Add(half), Sample{PID: 1, Name: "init", Reaped: time.Hour + 450*ms}), time.Hour+500*ms),
			100, `processes that have ended, most of them collected by "init" (PID 1) of root used 100 %` + ended,
		},
		"a build beside others": {
			busy(table(began, Sample{PID: 7}, Sample{PID: 9, Reaped: ms}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, CPU: 400 * ms}, Sample{PID: 9, Name: "make", Reaped: 451 * ms}), time.Hour+900*ms),
			100, `processes that have ended, most of them collected by "make" (PID 9) used 100 %` + ended,
		},
		"collected by several": {
			busy(table(began, Sample{PID: 7, Reaped: ms}, Sample{PID: 8, Reaped: ms}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, Reaped: 200 * ms}, Sample{PID: 8, Reaped: 200 * ms}), time.Hour+500*ms),
			100, "processes that have ended used 100 %" + ended,
		},
		"one of long standing collected": {
			busy(table(began, Sample{PID: 7, Reaped: ms}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, Reaped: time.Minute}), time.Hour+500*ms),
			100, "processes that have ended used 100 %" + ended,
		},
		"a sample that did not tell what was collected": {
			busy(table(began, Sample{PID: 7}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, Reaped: 500 * ms}), time.Hour+500*ms),
			100, "processes that have ended used 100 %" + ended,
		},
		"another process of this number": {
			busy(table(began, Sample{PID: 7, Start: "a.1", Reaped: ms}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, Reaped: 500 * ms}), time.Hour+500*ms),
			100, "processes that have ended used 100 %" + ended,
		},
		"as much as the rows":      {busy(table(began, Sample{PID: 7}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, CPU: 500 * ms}), time.Hour+500*ms), 0, ""},
		"less than a fifth":        {busy(table(began), time.Hour), busy(table(began.Add(half), Sample{PID: 7}), time.Hour+90*ms), 0, ""},
		"a tenth of a big machine": {busy(table(began, Sample{PID: 7}), time.Hour), busy(table(began.Add(half), Sample{PID: 7, CPU: 4600 * ms}), time.Hour+5000*ms), 0, ""},
		"not known before":         {table(began, Sample{PID: 7}), busy(table(began.Add(half), Sample{PID: 7}), time.Hour), 0, ""},
		"not known after":          {busy(table(began, Sample{PID: 7}), time.Hour), table(began.Add(half), Sample{PID: 7}), 0, ""},
	} {
		got := Rank(t.Context(), &source{details: map[int]Details{1: {User: "root"}}}, c.before, c.after, Options{Count: 1})
		var percent float64
		if got.UnattributedPercent != nil {
			percent = *got.UnattributedPercent
		}
		var reason string
		if i := len(got.Unavailable) - 1; i >= 0 && got.Unavailable[i].Field == "processes" {
			reason = got.Unavailable[i].Reason
		}
		if percent != c.want || reason != c.reason {
			t.Errorf("%s: %v %%, %q", name, percent, reason)
		}
	}
}

func TestMemoryOfNoProcessIsSaidWhereMemoryIsAsked(t *testing.T) {
	one := table(began, Sample{PID: 7})
	one.HugeBytes, one.MemoryTotal, one.SharedBytes = 160<<20, 1<<30, 103<<20
	one.KernelBytes, one.Unsized = 300<<20, 2
	s := &source{details: map[int]Details{7: {User: "ann"}}}
	want := answer.Gaps{
		{Field: "processes.mem_mb", Reason: "160 MiB are held in huge pages, and counted for no process; get_process_details has them"},
		{Field: "processes.mem_mb", Reason: "103 MiB are shared or in files of a tmpfs, such as /dev/shm: what of that no process has mapped is counted for none"},
		{Field: "processes.mem_mb", Reason: "300 MiB are held by the kernel and its drivers, such as for sockets that nobody reads, compressed swap space or the cache of ZFS, and counted for no process"},
		{Field: "processes.mem_mb", Reason: "page tables take much memory or much is swapped out, and of 2 processes these were not looked at in time"}}
	if diff := cmp.Diff(want, Rank(t.Context(), s, one, one, Options{Sort: "memory"}).Unavailable); diff != "" {
		t.Error(diff)
	}
	if got := Rank(t.Context(), s, one, one, Options{Sort: "cpu"}).Unavailable; len(got) != 0 {
		t.Errorf("%v", got)
	}
	i := Inspection{Name: "db", Memory: &MemoryKinds{ResidentMB: 13, HugeMB: new(160.0), TablesMB: new(20.0)}}
	if got := i.summary(); got != `"db" and holds 13 MiB of memory, and 160 MiB in huge pages, and 20 MiB in page tables.` {
		t.Error(got)
	}
}

func TestNothingIsSaidOfProcessesThatAreHidden(t *testing.T) {
	one := table(began, Sample{PID: 7})
	one.Hidden = true
	got := Rank(t.Context(), &source{details: map[int]Details{7: {User: "ann"}}}, one, one, Options{})
	want := answer.Gaps{{Field: "processes", Reason: "the system hides processes of other users (hidepid)"}}
	if diff := cmp.Diff(want, got.Unavailable); diff != "" || got.UnattributedPercent != nil {
		t.Error(diff)
	}
}
