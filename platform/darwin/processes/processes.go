// SPDX-License-Identifier: Apache-2.0

// Package processes reads the process table of macOS, and ends processes.
package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/ps"
	"sentinel/platform/darwin/sysctl"
)

// A Source reads processes by running programs.
type Source struct {
	runner sysexec.Runner
	own    int // PID of this run
	now    func() time.Time

	mu     sync.Mutex
	memory uint64             // memory of the machine in bytes, once read
	rows   map[int]ps.Process // of the last table
	lines  *commandLines      // of the same processes, once one was asked for
}

type commandLines struct {
	byPID map[int]ps.CommandLine
	err   error
}

var _ processes.Source = (*Source)(nil)

// New returns the Source. pid is that of this run, and now is read when a table
// was taken.
func New(runner sysexec.Runner, pid int, now func() time.Time) *Source {
	return &Source{runner: runner, own: pid, now: now}
}

// Table implements [processes.Source]. The programs that this run starts to look at
// the machine are left out: they are gone when the answer is read.
func (s *Source) Table(ctx context.Context) (processes.Table, error) {
	list, err := ps.Table(ctx, s.runner)
	if err != nil {
		return processes.Table{}, err
	}
	read := s.now()
	t := processes.Table{MemoryTotal: s.memoryTotal(ctx)}
	rows := make(map[int]ps.Process, len(list))
	for _, p := range list {
		if p.PPID == s.own {
			continue
		}
		rows[p.PID] = p
		t.Samples = append(t.Samples, processes.Sample{
			PID: p.PID, Name: p.Name(), State: state(p.State), CPU: p.CPU, Start: p.StartID(), MemoryBytes: p.RSS, Read: read,
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows, s.lines = rows, nil
	return t, nil
}

// memoryTotal is asked for until it is known; it does not change.
func (s *Source) memoryTotal(ctx context.Context) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == 0 {
		if values, err := sysctl.Read(ctx, s.runner, "hw.memsize"); err == nil {
			s.memory, _ = values.Number("hw.memsize") //nolint:errcheck // 0 is unknown
		}
	}
	return s.memory
}

// state translates the state letter of ps to that of Linux.
func state(letter byte) byte {
	if letter == 'U' {
		return 'D' // waits and cannot be interrupted
	}
	return letter
}

// errGone reports that a process has ended, or never was in the table.
var errGone = errors.New("the process ended")

// Details implements [processes.Source]. The command lines of all processes are
// read with the first one that is asked for after a table; the user is that of the table.
func (s *Source) Details(ctx context.Context, pid int, start string) (processes.Details, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.rows[pid]
	if !ok || p.StartID() != start {
		return processes.Details{}, errGone
	}
	d := processes.Details{User: p.User, ParentPID: p.PPID}
	if !p.Started.IsZero() {
		age := max(s.now().Sub(p.Started), 0)
		d.Age = &age
	}
	if s.lines == nil {
		s.lines = readLines(ctx, s.runner)
	}
	if s.lines.err != nil {
		return d, s.lines.err
	}
	line, ok := s.lines.byPID[pid]
	if !ok || line.StartID != start {
		return d, errGone
	}
	d.Arguments = arguments(p, line.Text)
	return d, nil
}

func readLines(ctx context.Context, runner sysexec.Runner) *commandLines {
	list, err := ps.CommandLines(ctx, runner)
	lines := &commandLines{byPID: make(map[int]ps.CommandLine, len(list)), err: err}
	for _, l := range list {
		lines.byPID[l.PID] = l
	}
	return lines
}

// arguments takes a command line apart at its blanks, after the first argument,
// which is known and may hold some. A process that shows none, such as one that ended, has
// its name in parentheses there.
func arguments(p ps.Process, line string) []string {
	if line == "" || strings.HasPrefix(line, "(") && strings.HasSuffix(line, ")") {
		return nil
	}
	rest, ok := strings.CutPrefix(line, p.Comm)
	if !ok || rest != "" && rest[0] != ' ' {
		return strings.Fields(line)
	}
	return append([]string{p.Comm}, strings.Fields(rest)...)
}

// StartID returns the identity of the process that has pid now: with the PID it
// names one process among all that ever had it. The error matches fs.ErrNotExist when there
// is none. It is bound by the time limit of ps.
func (s *Source) StartID(pid int) (string, error) {
	list, err := ps.Lookup(context.Background(), s.runner, pid)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}
	return list[0].StartID(), nil
}
