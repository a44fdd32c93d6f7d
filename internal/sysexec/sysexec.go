// Package sysexec runs other programs. It is the only place that does.
//
// A program is named by its absolute path, gets a fixed environment and
// locale, a deadline and an output cap, and no shell ever stands between. It runs in
// a process group of its own so that what it started ends with it.
package sysexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// DefaultMaxOutput caps each output stream of a program, in bytes.
const DefaultMaxOutput = 4 << 20

// grace is how long a program may take to end after SIGTERM.
const grace = 5 * time.Second

// environment is what every program gets. A fixed locale keeps outputs
// parseable; nothing of the caller's environment is inherited.
var environment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C",
	"HOME=/",
}

// ErrOutputTooLarge reports that a program printed more than its cap.
var ErrOutputTooLarge = errors.New("printed more than its output limit")

// A Command is one program to run.
type Command struct {
	Path      string   // absolute
	Args      []string // without the program's name
	Stdin     []byte
	MaxOutput int           // bytes of each stream; 0 means DefaultMaxOutput
	Timeout   time.Duration // 0 means the context's deadline alone
}

// A Result is what a finished program left behind.
type Result struct {
	Stdout, Stderr []byte
	Exit           int // status, or 128 plus the signal that ended it
}

// A Runner runs commands. A program that ran and failed is a Result with its
// exit status, not an error; an error means that it could not be started, ran out of
// time, or printed too much. Run is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, c Command) (Result, error)
}

// Host runs commands on this machine.
type Host struct{}

var _ Runner = Host{}

// Run implements [Runner]. When ctx ends, the program's group is sent SIGTERM,
// and SIGKILL five seconds later. sudo relays SIGTERM to its child but would leave
// it running if it were killed itself.
func (Host) Run(ctx context.Context, c Command) (Result, error) {
	if !filepath.IsAbs(c.Path) {
		return Result{}, fmt.Errorf("run %q: the path is not absolute", c.Path)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	out, errs := newCapped(c.MaxOutput), newCapped(c.MaxOutput)
	cmd := prepare(ctx, c, out, errs)
	err := cmd.Run()
	return result(ctx, cmd, out, errs, err)
}

func prepare(ctx context.Context, c Command, out, errs *capped) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env = environment
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd
}

func result(ctx context.Context, cmd *exec.Cmd, out, errs *capped, err error) (Result, error) {
	r := Result{Stdout: out.Bytes(), Stderr: errs.Bytes()}
	if ctx.Err() != nil {
		return r, fmt.Errorf("run %s: %w", cmd.Path, ctx.Err())
	}
	if out.overflow || errs.overflow {
		return r, fmt.Errorf("run %s: %w", cmd.Path, ErrOutputTooLarge)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	r.Exit = exitStatus(cmd)
	return r, nil
}

func exitStatus(cmd *exec.Cmd) int {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// capped keeps the first bytes of a stream and drops the rest, so that a
// program that floods its output is not blocked and does not fill memory.
type capped struct {
	bytes.Buffer
	left     int
	overflow bool
}

func newCapped(limit int) *capped {
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	return &capped{left: limit}
}

// Write implements [io.Writer].
func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	c.overflow = c.overflow || n < len(p)
	c.Buffer.Write(p[:n]) //nolint:errcheck // a bytes.Buffer does not fail
	return len(p), nil
}
