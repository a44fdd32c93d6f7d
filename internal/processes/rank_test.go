// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const half = 500 * time.Millisecond

// table makes a table that was read at one moment.
func table(at time.Time, samples ...Sample) Table {
	for i := range samples {
		samples[i].Read = at
		if samples[i].Start == "" {
			samples[i].Start = fmt.Sprintf("b.%d", samples[i].PID)
		}
		if samples[i].State == 0 {
			samples[i].State = 'S'
		}
	}
	return Table{Samples: samples, MemoryTotal: 1 << 30}
}

// source answers for details by PID; a PID that is not there has ended.
type source struct {
	Source
	details map[int]Details
	asked   []int
	starts  []string
}

func (s *source) Details(_ context.Context, pid int, start string) (Details, error) {
	s.asked, s.starts = append(s.asked, pid), append(s.starts, start)
	d, ok := s.details[pid]
	if !ok {
		return Details{}, errors.New("gone")
	}
	return d, nil
}

func ranked(t *testing.T, before, after Table, o Options) Ranking {
	t.Helper()
	return Rank(t.Context(), &source{}, before, after, o)
}

func lines(r Ranking) (list []string) {
	for _, p := range r.Processes {
		list = append(list, fmt.Sprintf("%d %.1f%% %.1fMiB", p.PID, p.CPUPercent, p.MemoryMB))
	}
	return list
}

func TestRankingIsByTheKeyThenTheOtherThenThePID(t *testing.T) {
	before := table(began, Sample{PID: 1}, Sample{PID: 2, CPU: time.Hour}, Sample{PID: 3}, Sample{PID: 4}, Sample{PID: 5})
	after := table(began.Add(half),
		Sample{PID: 5, CPU: 50 * time.Millisecond, MemoryBytes: 1 << 20}, Sample{PID: 4, CPU: 50 * time.Millisecond, MemoryBytes: 1 << 20},
		Sample{PID: 3, CPU: 50 * time.Millisecond, MemoryBytes: 2 << 20}, Sample{PID: 2, CPU: time.Hour + 250*time.Millisecond},
		Sample{PID: 1, MemoryBytes: 9 << 20},
	)
	byCPU := []string{"2 50.0% 0.0MiB", "3 10.0% 2.0MiB", "4 10.0% 1.0MiB", "5 10.0% 1.0MiB", "1 0.0% 9.0MiB"}
	byMemory := []string{"1 0.0% 9.0MiB", "3 10.0% 2.0MiB", "4 10.0% 1.0MiB", "5 10.0% 1.0MiB", "2 50.0% 0.0MiB"}
	for key, want := range map[string][]string{"cpu": byCPU, "memory": byMemory} {
		got := ranked(t, before, after, Options{Sort: key})
		if diff := cmp.Diff(want, lines(got)); diff != "" || got.SortedBy != key || got.WindowMS != 500 {
			t.Errorf("%s, over %d ms: %s", got.SortedBy, got.WindowMS, diff)
		}
		for n := 1; n <= len(want)+1; n++ {
			if diff := cmp.Diff(want[:min(n, len(want))], lines(ranked(t, before, after, Options{Sort: key, Count: n}))); diff != "" {
				t.Errorf("the first %d by %s: %s", n, key, diff)
			}
		}
	}
}

func TestRankingIsCutAndSaysSo(t *testing.T) {
	many := table(began, Sample{PID: 1}, Sample{PID: 2}, Sample{PID: 3})
	for count, want := range map[int]struct {
		rows int
		cut  bool
	}{0: {3, false}, 1: {1, true}, 2: {2, true}, 3: {3, false}, 100: {3, false}} {
		got := ranked(t, many, many, Options{Count: count})
		if len(got.Processes) != want.rows || got.Truncated != want.cut || got.ProcessesTotal != 3 {
			t.Errorf("count %d: %d rows of %d, truncated %v", count, len(got.Processes), got.ProcessesTotal, got.Truncated)
		}
	}
}

func TestDetailsAreReadOnlyForShownRows(t *testing.T) {
	many := table(began, Sample{PID: 1, MemoryBytes: 3}, Sample{PID: 2, MemoryBytes: 2}, Sample{PID: 3, MemoryBytes: 1})
	s := &source{}
	Rank(t.Context(), s, many, many, Options{Count: 2})
	if diff := cmp.Diff([]int{1, 2}, s.asked); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b.1", "b.2"}, s.starts); diff != "" {
		t.Errorf("details of another process may be taken: %s", diff)
	}
}

func TestPercentIsNeverNegativeOrAboveWhatTheWindowHolds(t *testing.T) {
	for name, c := range map[string]struct {
		before, after Sample
		want          float64
	}{
		"one core":              {Sample{PID: 1}, Sample{PID: 1, CPU: half}, 100},
		"four cores":            {Sample{PID: 1}, Sample{PID: 1, CPU: 4 * half}, 400},
		"one tick":              {Sample{PID: 1}, Sample{PID: 1, CPU: 10 * time.Millisecond}, 2},
		"a clock that ran back": {Sample{PID: 1, CPU: time.Second}, Sample{PID: 1, CPU: time.Millisecond}, 0},
		"a reused PID":          {Sample{PID: 1, CPU: time.Hour, Start: "b.7"}, Sample{PID: 1, CPU: 10 * time.Millisecond, Start: "b.9"}, 2},
		"a busier namesake":     {Sample{PID: 1, CPU: 0, Start: "b.7"}, Sample{PID: 1, CPU: 100 * time.Millisecond, Start: "b.9"}, 20},
		"born in the window":    {Sample{PID: 9}, Sample{PID: 1, CPU: 100 * time.Millisecond}, 20},
		"300 years of time":     {Sample{PID: 1, CPU: math.MaxInt64}, Sample{PID: 1, CPU: math.MinInt64 + time.Duration(half) - 1}, 100},
	} {
		got := ranked(t, table(began, c.before), table(began.Add(half), c.after), Options{})
		if len(got.Processes) != 1 || got.Processes[0].CPUPercent != c.want {
			t.Errorf("%s: got %+v, want %v", name, got.Processes, c.want)
		}
	}
}

func TestFiguresHaveOneDecimal(t *testing.T) {
	got := ranked(t, table(began, Sample{PID: 1}), table(began.Add(300*time.Millisecond), Sample{PID: 1, CPU: 10 * time.Millisecond, MemoryBytes: 13<<20 + 256<<10}), Options{}).Processes[0]
	if got.CPUPercent != 3.3 || got.MemoryMB != 13.3 || *got.MemoryPercent != 1.3 {
		t.Errorf("%v %%, %v MiB, %v %%", got.CPUPercent, got.MemoryMB, *got.MemoryPercent)
	}
}

func TestWindowOfNoLengthMeasuresNothing(t *testing.T) {
	for name, c := range map[string][2]Table{
		"no time passed":  {table(began, Sample{PID: 1}), table(began, Sample{PID: 1, CPU: time.Second})},
		"time went back":  {table(began, Sample{PID: 1}), table(began.Add(-half), Sample{PID: 1, CPU: time.Second})},
		"no first sample": {{}, table(began, Sample{PID: 1, CPU: time.Second})},
	} {
		got := ranked(t, c[0], c[1], Options{})
		if got.Processes[0].CPUPercent != 0 {
			t.Errorf("%s: %v percent", name, got.Processes[0].CPUPercent)
		}
	}
}

func TestProcessThatEndedInTheWindowIsLeftOut(t *testing.T) {
	got := ranked(t, table(began, Sample{PID: 1}, Sample{PID: 2}), table(began.Add(half), Sample{PID: 2}), Options{})
	if len(got.Processes) != 1 || got.Processes[0].PID != 2 || got.ProcessesTotal != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestProcessThatEndedBeforeItsDetailsKeepsItsRow(t *testing.T) {
	one := table(began, Sample{PID: 7, Name: "gone", MemoryBytes: 512 << 20})
	got := ranked(t, one, one, Options{})
	share := 50.0
	want := []Process{{PID: 7, Name: "gone", MemoryPercent: &share, MemoryMB: 512, Status: "sleeping", StartID: "b.7", CPUSeconds: new(0.0)}}
	if diff := cmp.Diff(want, got.Processes); diff != "" {
		t.Error(diff)
	}
	if len(got.Unavailable) != 1 || got.Unavailable[0].Field != "processes.user" {
		t.Errorf("gaps %v", got.Unavailable)
	}
}

func TestWhatIsNotKnownIsAbsentAndListed(t *testing.T) {
	one := table(began, Sample{PID: 7, Name: "x"})
	one.MemoryTotal, one.Hidden = 0, true
	got := Rank(t.Context(), &source{details: map[int]Details{7: {User: "root"}}}, one, one, Options{})
	if got.Processes[0].MemoryPercent != nil {
		t.Errorf("a share of an unknown memory: %v", *got.Processes[0].MemoryPercent)
	}
	var fields []string
	for _, g := range got.Unavailable {
		fields = append(fields, g.Field)
	}
	if diff := cmp.Diff([]string{"processes", "processes.mem_percent"}, fields); diff != "" {
		t.Error(diff)
	}
	known := table(began, Sample{PID: 7})
	if got := Rank(t.Context(), &source{details: map[int]Details{7: {User: "root"}}}, known, known, Options{}); !cmp.Equal(got.Unavailable, answer.Gaps{}) {
		t.Errorf("gaps %#v where all is known", got.Unavailable)
	}
}

// lockedSource keeps the arguments of some processes back.
type lockedSource struct{ source }

func (s *lockedSource) Details(_ context.Context, pid int, _ string) (Details, error) {
	if pid > 1 {
		return Details{User: "eve"}, ErrLocked
	}
	return Details{User: "root", Arguments: []string{"init"}}, nil
}

func TestProcessesThatKeepTheirArgumentsBackAreNamed(t *testing.T) {
	table := table(began, Sample{PID: 1, Name: "init", MemoryBytes: 9}, Sample{PID: 2, Name: "sshd\n"}, Sample{PID: 3, Name: "b"}, Sample{PID: 4, Name: "c"}, Sample{PID: 5, Name: "d"})
	got := Rank(t.Context(), &lockedSource{}, table, table, Options{Count: 5})
	want := answer.Gaps{{Field: "processes.command", Reason: "of 4 processes, \"sshd \" (PID 2), \"b\" (PID 3), \"c\" (PID 4): its memory is locked, perhaps because it waits for a dead file system"}}
	if diff := cmp.Diff(want, got.Unavailable); diff != "" {
		t.Error(diff)
	}
	if got.Processes[0].Command != "init" || got.Processes[1].User != "eve" || got.Processes[1].Command != "" {
		t.Errorf("rows %+v", got.Processes)
	}
}

func TestNoProcessesAreAnEmptyList(t *testing.T) {
	got := ranked(t, Table{}, Table{}, Options{Count: 3})
	if got.Processes == nil || len(got.Processes) != 0 || got.Truncated {
		t.Errorf("got %+v", got)
	}
}

func TestRowsHoldNoSecretAndNoEscape(t *testing.T) {
	one := table(began, Sample{PID: 7, Name: "\x1b[31mx\n\u202e"})
	got := Rank(t.Context(), &source{details: map[int]Details{7: {
		Arguments: []string{"x", "--password", "hunter2", "--token=hunter2", "\x1b]0;owned\x07"}, User: "a\x1bb",
	}}}, one, one, Options{}).Processes[0]
	if got.Name != "�[31mx �" || got.User != "a�b" || got.Command != "x --password [redacted] --token=[redacted] �]0;owned�" {
		t.Errorf("got %q, %q, %q", got.Name, got.User, got.Command)
	}
}

func TestCutNameIsCompletedAndNoMore(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"systemd-journal", []string{"/lib/systemd/systemd-journald"}, "systemd-journald"},
		{"gnome-terminal-", []string{"/usr/libexec/gnome-terminal-server", "x"}, "gnome-terminal-server"},
		{"a-long-worker-n", []string{"a-long-worker-name --password=hunter2"}, "a-long-worker-name"},
		{"a-long-worker-n", []string{"a-long-worker-n\tx"}, "a-long-worker-n"},
		{"short", []string{"/bin/shorter"}, "short"},
		{"exactly-fifteen", []string{"/bin/other"}, "exactly-fifteen"},
		{"exactly-fifteen", nil, "exactly-fifteen"},
		{"exactly-fifteen", []string{""}, "exactly-fifteen"},
		{strings.Repeat("n", 15), []string{strings.Repeat("n", 400)}, strings.Repeat("n", 15)},
		{strings.Repeat("n", 15), []string{strings.Repeat("n", 15+maxRest)}, strings.Repeat("n", 63) + "…"},
		{strings.Repeat("n", 15), []string{strings.Repeat("n", 16+maxRest)}, strings.Repeat("n", 15)},
		{"a-long-worker-n", []string{"a-long-worker-name=hunter2"}, "a-long-worker-n"},
		{"a-long-worker-n", []string{"a-long-worker-name,hunter2 x"}, "a-long-worker-n"},
		{"systemd-user-se", []string{"/lib/systemd-user-session@1000.c++_x:y"}, "systemd-user-session@1000.c++_x:y"},
	} {
		one := table(began, Sample{PID: 7, Name: c.name})
		got := Rank(t.Context(), &source{details: map[int]Details{7: {Arguments: c.args}}}, one, one, Options{}).Processes[0].Name
		if got != c.want {
			t.Errorf("%s of %q: got %q, want %q", c.name, c.args, got, c.want)
		}
	}
}

func TestEveryStateLetterIsSpelledOut(t *testing.T) {
	want := map[byte]string{
		'R': "running", 'S': "sleeping", 'D': "uninterruptible", 'Z': "zombie", 'T': "stopped", 't': "stopped", 'I': "idle", 'X': "dead",
		'x': "dead", 'P': "parked",
	}
	for letter := range 256 {
		name, ok := want[byte(letter)]
		if !ok {
			name = "unknown"
		}
		if got := Status(byte(letter)); got != name {
			t.Errorf("%q: %s, want %s", rune(letter), got, name)
		}
	}
}
