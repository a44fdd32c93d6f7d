// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/ps"
)

const header = "  PID  PPID   UID STAT      TIME    RSS USER             STARTED                      COMM\n"

// machine prints what is set for each program and counts its runs.
type machine struct {
	tables    []string // rows of one ps each
	arguments string
	memory    string
	lookup    string
	runs      map[string]int
	err       error
}

func (m *machine) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	argv := c.Path + " " + strings.Join(c.Args, " ")
	m.runs[argv]++
	if m.err != nil {
		return sysexec.Result{}, m.err
	}
	switch {
	case argv == "/usr/sbin/sysctl hw.memsize":
		return sysexec.Result{Stdout: []byte(m.memory)}, nil
	case strings.Contains(argv, " -p "):
		if m.lookup == "" {
			return sysexec.Result{Stdout: []byte(header), Exit: 1}, nil
		}
		return sysexec.Result{Stdout: []byte(header + m.lookup)}, nil
	case strings.HasSuffix(argv, ",args"):
		return sysexec.Result{Stdout: []byte("  PID STARTED                      ARGS\n" + m.arguments)}, nil
	default:
		out := m.tables[0]
		m.tables = m.tables[1:]
		return sysexec.Result{Stdout: []byte(header + out)}, nil
	}
}

const (
	rowInit   = "    1     0     0 Ss     0:10.00   2048 root             Mon Sep  1 08:00:02 2025     /sbin/launchd\n"
	rowChrome = " 1733     1   501 U      0:%05.2f  4096 ana              Tue Sep 23 21:14:09 2025     /Applications/Google Chrome.app/Contents/MacOS/Google Chrome\n"
	ownPS     = " 9001  9000   501 R+     0:00.01   1024 ana              Tue Sep 23 21:20:00 2025     /bin/ps\n"
	reused    = "  500     1   501 S      0:99.00   1024 ana              Tue Sep 23 21:19:59 2025     other\n"
	before    = "  500     1   501 S      0:01.00   1024 ana              Mon Sep 22 21:19:59 2025     one\n"
)

func source(m *machine) *Source {
	m.runs = map[string]int{}
	now := time.Date(2025, 9, 23, 21, 20, 0, 0, time.UTC)
	return New(m, 9000, func() time.Time { now = now.Add(500 * time.Millisecond); return now })
}

func TestRanking(t *testing.T) {
	m := &machine{
		tables:    []string{rowInit + fmt.Sprintf(rowChrome, 1.0) + before + ownPS, rowInit + fmt.Sprintf(rowChrome, 1.25) + reused + ownPS},
		memory:    "hw.memsize: 16777216\n",
		arguments: "    1 Mon Sep  1 08:00:02 2025     /sbin/launchd\n 1733 Tue Sep 23 21:14:09 2025     /Applications/Google Chrome.app/Contents/MacOS/Google Chrome --type=renderer --password=geheim\n  500 Tue Sep 23 21:20:00 2025     third\n",
	}
	s := source(m)
	first, err := s.Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	share := func(x float64) *float64 { return &x }
	want := []processes.Process{
		// 500 is another process by now, which began within the window: what it used, it used in it.
		{PID: 500, Name: "other", CPUPercent: 19800, MemoryPercent: share(6.3), MemoryMB: 1, User: "ana", Status: "sleeping", StartID: "1758662399"},
		{PID: 1733, Name: "Google Chrome", CPUPercent: 50, MemoryPercent: share(25), MemoryMB: 4, User: "ana", Status: "uninterruptible", StartID: "1758662049",
			Command: "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome --type=renderer --password=[redacted]"},
		{PID: 1, Name: "launchd", MemoryPercent: share(12.5), MemoryMB: 2, User: "root", Status: "sleeping", Command: "/sbin/launchd", StartID: "1756713602"},
	}
	got := processes.Rank(t.Context(), s, first, second, processes.Options{Sort: "cpu"})
	if p := got.Processes[2]; p.AgeSeconds == nil || *p.AgeSeconds != 1948800 || p.CPUSeconds == nil || *p.CPUSeconds != 10 || p.Parent != nil {
		t.Errorf("%+v", p)
	}
	if p := got.Processes[1].Parent; p == nil || *p != (processes.Relative{PID: 1, Name: "launchd"}) {
		t.Errorf("parent %+v", p)
	}
	if diff := cmp.Diff(want, got.Processes, cmpopts.IgnoreFields(processes.Process{}, "AgeSeconds", "CPUSeconds", "Parent")); diff != "" {
		t.Error(diff)
	}
	if got.WindowMS != 500 || got.ProcessesTotal != 3 || len(got.Unavailable) != 0 {
		t.Errorf("%+v", got)
	}
	for argv, n := range m.runs {
		if want := map[bool]int{true: 2, false: 1}[strings.HasSuffix(argv, ",comm")]; n != want {
			t.Errorf("%q ran %d times", argv, n)
		}
	}
}

func TestDetailsAreOfTheProcessThatWasSampled(t *testing.T) {
	m := &machine{tables: []string{rowInit, rowInit}, memory: "", arguments: "    1 Mon Sep  1 08:00:03 2025     another\n"}
	s := source(m)
	if _, err := s.Details(t.Context(), 1, "1756713602"); !errors.Is(err, errGone) {
		t.Errorf("before a table: %v", err)
	}
	table, err := s.Table(t.Context())
	if err != nil || table.MemoryTotal != 0 {
		t.Fatal(table, err)
	}
	if d, err := s.Details(t.Context(), 1, "1756713602"); !errors.Is(err, errGone) || d.Arguments != nil || d.User != "root" {
		t.Errorf("the arguments of another process: %+v, %v", d, err)
	}
	if d, err := s.Details(t.Context(), 1, "1"); !errors.Is(err, errGone) || d.User != "" {
		t.Errorf("another start: %+v, %v", d, err)
	}
	if _, err := s.Table(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.arguments = "    1 Mon Sep  1 08:00:02 2025     /sbin/launchd\n"
	if d, err := s.Details(t.Context(), 1, "1756713602"); err != nil || len(d.Arguments) != 1 {
		t.Errorf("a listing from before the table: %+v, %v", d, err)
	}
	m.err = errors.New("no such file")
	if d, err := s.Details(t.Context(), 1, "1756713602"); err != nil {
		t.Errorf("the listing was read again: %+v, %v", d, err)
	}
	if _, err := s.Table(t.Context()); !errors.Is(err, m.err) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		comm, line string
		want       []string
	}{
		{"/a b/c d", "/a b/c d -x y", []string{"/a b/c d", "-x", "y"}},
		{"-zsh", "-zsh", []string{"-zsh"}},
		{"/bin/x", "/bin/xy z", []string{"/bin/xy", "z"}},
		{"(make)", "(make)", nil},
		{"kernel_task", "", nil},
	} {
		got := arguments(ps.Process{Comm: c.comm}, c.line)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.line, diff)
		}
	}
}

func TestStartID(t *testing.T) {
	m := &machine{lookup: rowInit}
	if id, err := source(m).StartID(1); id != "1756713602" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	m.lookup = ""
	if id, err := source(m).StartID(1); id != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q, %v", id, err)
	}
	m.err = context.DeadlineExceeded
	if id, err := source(m).StartID(1); id != "" || !errors.Is(err, m.err) {
		t.Errorf("%q, %v", id, err)
	}
}
