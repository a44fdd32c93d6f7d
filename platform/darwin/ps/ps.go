// SPDX-License-Identifier: Apache-2.0

// Package ps reads the processes of macOS from one run of ps(1).
//
// /bin/ps is setuid root, so it shows the processes of other users as completely as one's own. It
// prints the first argument of a process as its name (comm), which the caller of a program may
// choose freely, and encodes control characters as vis(3) does. Where it does not encode them, a
// name that contains a newline can look like the row of another process: [Table] and [Lookup] say
// how they deal with that.
package ps

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// program is the path of ps; PATH is not searched.
const program = "/bin/ps"

const (
	limit = 5 * time.Second
	// waitDelay is short: a program that only prints is not worth waiting for.
	waitDelay = 200 * time.Millisecond
	// maxOutput is room for ten thousand processes with long command lines.
	maxOutput = 16 << 20
)

// A Process is one row.
type Process struct {
	PID, PPID int
	UID       int    // effective
	User      string // name of UID, or its number if it has none
	// State is the first letter of the state: R running, S sleeping, I sleeping for longer than 20
	// seconds, U in uninterruptible wait, T stopped, Z ended but not yet collected by its parent.
	State   byte
	CPU     time.Duration // user and system time since it began, in hundredths of a second
	RSS     uint64        // resident memory, bytes
	Started time.Time     // to the second, by the clock at that time
	// Comm is the first argument: often the path of the program, for a login shell a name with a
	// leading dash, and for a zombie a name in parentheses. It may contain blanks, and be empty.
	Comm string
}

// StartID distinguishes the process from all others that had its PID: it is the Unix second in
// which the process started. The kernel keeps the clock's reading of that time, so setting the
// clock or the time zone does not change it. It is empty if the start was not read.
func (p Process) StartID() string {
	if p.Started.IsZero() {
		return ""
	}
	return strconv.FormatInt(p.Started.Unix(), 10)
}

// Name returns the name of the program: the last part of a path, without the dash of a login shell
// and the parentheses of a zombie. A title that a program gave itself ("nginx: master process
// /usr/sbin/nginx") is kept whole.
func (p Process) Name() string {
	name := strings.TrimPrefix(p.Comm, "-")
	if inner, ok := strings.CutPrefix(name, "("); ok && strings.HasSuffix(inner, ")") {
		name = strings.TrimSuffix(inner, ")")
	}
	title := strings.Contains(name, ": ") && !strings.HasPrefix(name, "/")
	if name == "" || title {
		return name
	}
	return path.Base(name)
}

// The last column is the one that may contain arbitrary text. The start time has the long form, 24
// characters in UTC, and also marks the end of the user's name.
const (
	columns         = "pid,ppid,uid,state,time,rss,user,lstart,comm"
	argumentColumns = "pid,lstart,args"
)

// ErrAmbiguous reports that ps did not print exactly one row for each process: a name contains a
// newline.
var ErrAmbiguous = errors.New("ps printed rows that cannot be distinguished")

// Table returns all processes, in the order of ps. A PID with more than one row is left out, since
// one of the rows is forged.
func Table(ctx context.Context, runner sysexec.Runner) ([]Process, error) {
	raw, err := run(ctx, runner, "-A", "-ww", "-o", columns)
	if err != nil {
		return nil, err
	}
	l, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return l.single(), l.complete()
}

// Lookup returns the processes among pids that exist; finding none is not an error. It fails with
// [ErrAmbiguous] if ps printed anything but one row for each.
func Lookup(ctx context.Context, runner sysexec.Runner, pids ...int) ([]Process, error) {
	raw, err := run(ctx, runner, "-ww", "-o", columns, "-p", list(pids))
	if err != nil || raw == nil {
		return nil, err
	}
	l, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if l.fragments > 0 || !l.onlyRowsOf(pids) {
		return nil, ErrAmbiguous
	}
	return l.rows, l.complete()
}

// A CommandLine holds the arguments of a process.
type CommandLine struct {
	PID     int
	StartID string // see [Process.StartID]
	// Text holds the arguments, joined by blanks; a blank within an argument cannot be
	// distinguished.
	Text string
}

// CommandLines returns the arguments of the given processes, or of all processes if none are given.
// A PID with more than one row is left out.
func CommandLines(ctx context.Context, runner sysexec.Runner, pids ...int) ([]CommandLine, error) {
	which := []string{"-A", "-ww", "-o", argumentColumns}
	if len(pids) > 0 {
		which = []string{"-ww", "-o", argumentColumns, "-p", list(pids)}
	}
	raw, err := run(ctx, runner, which...)
	if err != nil || raw == nil {
		return nil, err
	}
	l, err := parse(raw)
	if err != nil {
		return nil, err
	}
	var lines []CommandLine
	for _, p := range l.single() {
		lines = append(lines, CommandLine{PID: p.PID, StartID: p.StartID(), Text: p.Comm})
	}
	return lines, nil
}

func list(pids []int) string {
	numbers := make([]string, len(pids))
	for i, pid := range pids {
		numbers[i] = strconv.Itoa(pid)
	}
	return strings.Join(numbers, ",")
}

// run returns nil output if ps found none of the processes: it then ends with status 1 and prints
// at most its header.
func run(ctx context.Context, runner sysexec.Runner, arguments ...string) ([]byte, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: arguments, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput})
	if err != nil {
		return nil, err
	}
	_, rows, _ := strings.Cut(strings.TrimSpace(string(r.Stdout)), "\n")
	selected := arguments[len(arguments)-2] == "-p"
	switch {
	case r.Exit == 1 && selected && rows == "" && len(r.Stderr) == 0:
		return nil, nil
	case r.Exit != 0:
		return nil, fmt.Errorf("ps ended with status %d", r.Exit)
	}
	return r.Stdout, nil
}
