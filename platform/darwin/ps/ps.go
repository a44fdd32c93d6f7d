// SPDX-License-Identifier: Apache-2.0

// Package ps reads the processes of macOS from what ps(1) prints, with one run
// for all of them.
//
// /bin/ps belongs to root and runs as root for everybody, so that processes of other
// users are read as completely as one's own. It prints the first argument of a process as
// its name (comm), which whoever starts a program may choose freely, and shows control characters
// in the form of vis(3). Where it does not, a name that holds a newline can look like the
// row of another process: see [Table] and [Lookup] for what is made of that.
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

// program is where macOS has ps; nothing is looked up in a PATH.
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
	User      string // name of UID, or its number where it has none
	// State is the first letter of the state: R runs, S sleeps, I sleeps for longer
	// than 20 seconds, U waits and cannot be interrupted, T is stopped, Z ended and was not
	// collected by its parent.
	State   byte
	CPU     time.Duration // user and system time since it began, in hundredths of a second
	RSS     uint64        // resident memory, bytes
	Started time.Time     // to the second; as the clock said then
	// Comm is the first argument: often the path of the program, for a login shell a
	// name with a dash before it, and for an ended process a name in parentheses. It may hold
	// blanks.
	Comm string
}

// StartID tells the process from all others that had its PID: the Unix second
// in which it began. The kernel keeps what the clock said then, so setting the clock or the
// time zone does not change it. It is empty where the start was not read.
func (p Process) StartID() string {
	if p.Started.IsZero() {
		return ""
	}
	return strconv.FormatInt(p.Started.Unix(), 10)
}

// Name is the name of the program: the last part of a path, without the dash of
// a login shell and the parentheses of an ended process. A title that a program gave itself
// ("nginx: master process /usr/sbin/nginx") stays whole.
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

// The columns end with the one that may hold anything. The start is the long one, 24
// characters in UTC, and also marks where the user's name ends.
const (
	columns         = "pid,ppid,uid,state,time,rss,user,lstart,comm"
	argumentColumns = "pid,lstart,args"
)

// ErrAmbiguous says that ps printed something else than one row for each
// process: a name holds a newline.
var ErrAmbiguous = errors.New("ps printed rows that cannot be told apart")

// Table returns all processes, in the order of ps. A PID with more than one row
// is left out, since one of them is made up.
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

// Lookup returns those of the processes that are there, none being no error. It
// fails with [ErrAmbiguous] when anything but single rows of these was printed.
func Lookup(ctx context.Context, runner sysexec.Runner, pids ...int) ([]Process, error) {
	raw, err := run(ctx, runner, "-ww", "-o", columns, "-p", list(pids))
	if err != nil || raw == nil {
		return nil, err
	}
	l, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if l.fragments > 0 || !l.only(pids) {
		return nil, ErrAmbiguous
	}
	return l.rows, l.complete()
}

// A CommandLine is what a process was started with.
type CommandLine struct {
	PID     int
	StartID string // as that of [Process]
	// Text holds the arguments, joined by blanks; what was a blank within one
	// cannot be told.
	Text string
}

// CommandLines returns the arguments of the given processes, or of all when
// none is given. A PID with more than one row is left out.
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

// run returns nil output when ps found none of the processes: it ends with
// status 1 then, having printed at most its header.
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
