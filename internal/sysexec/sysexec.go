// SPDX-License-Identifier: Apache-2.0

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
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultMaxOutput caps each output stream of a program, in bytes.
const DefaultMaxOutput = 4 << 20

// grace is how long a program may take to end after SIGTERM before it is
// killed, and how long something it left behind may keep its output open.
const grace = 5 * time.Second

// DefaultWaitDelay is how long Run waits for a program to end once its context
// has ended. It is a little longer than the time until SIGKILL, so that only what not
// even SIGKILL ends is given up: a process stuck in the kernel on dead storage.
const DefaultWaitDelay = grace + time.Second

// environment is what every program gets. A fixed locale keeps outputs
// parseable, and a fixed time zone (the form that tzset(3) needs no file for) makes
// times that a program prints mean one moment; nothing of the caller's environment is
// inherited.
var environment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C",
	"TZ=UTC0",
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
	// Patience is how long Run goes on waiting for the program once the
	// context has ended; 0 means DefaultPatience. What happens to the program does
	// not depend on it.
	WaitDelay time.Duration
	// NoKill spares the program SIGKILL: it is asked to end and then left. sudo
	// relays SIGTERM to its child; killed, it would leave the child running as root.
	NoKill bool
	// OnEnd, if set, is called once when the program is gone: before Run
	// returns, or later from another goroutine when Run did not wait that long. It is called
	// as well when the program could not be started.
	OnEnd func()
	// OnStderrLine, if set, is called with each line of stderr as it comes,
	// without its end, by one goroutine; the last calls may follow the return of Run. It may
	// block and does not hold the program up: of the lines that come meanwhile the last 16 are
	// kept. Lines longer than 256 bytes are left out. Stderr is kept in the result all the same.
	OnStderrLine func(line string)
}

// A Result is what a finished program left behind.
type Result struct {
	Stdout, Stderr []byte
	Exit           int // status, or 128 plus the signal that ended it
}

// A Runner runs commands. A program that ran and failed is a Result with its
// exit status, not an error, and so is one that left something behind that kept its
// output open; an error means that it could not be started, ran out of time, or printed
// too much. Run is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, c Command) (Result, error)
}

// Host runs commands on this machine.
type Host struct{}

var _ Runner = Host{}

// Run implements [Runner]. When ctx ends, the program's group is sent SIGTERM,
// and SIGKILL five seconds later unless the command spares it that.
//
// Run does not wait for ever. A program that is still there when the patience
// of its command is over goes on alone and is reaped when it ends; one that may not be
// signalled is left at once, because waiting cannot bring its end nearer. (The sudo of
// Debian keeps the caller's real user id and can be signalled, kill(2); a program that
// takes root's for that too cannot.) Either way the answer is the context's error, with
// the result of a program that was gone in time.
func (Host) Run(ctx context.Context, c Command) (Result, error) {
	p, ctx, cancel, err := launch(ctx, c)
	defer cancel()
	if err != nil {
		if c.OnEnd != nil {
			c.OnEnd()
		}
		return Result{}, err
	}
	select {
	case <-p.ended:
		return p.result()
	case <-ctx.Done():
		p.stop(c.WaitDelay, c.NoKill)
		return p.lastWords(), fmt.Errorf("run %s: %w", c.Path, ctx.Err())
	}
}

// launch checks and starts c. The context it returns ends with the time limit
// of c.
func launch(ctx context.Context, c Command) (*process, context.Context, context.CancelFunc, error) {
	cancel := func() {}
	if !filepath.IsAbs(c.Path) {
		return nil, ctx, cancel, fmt.Errorf("run %q: the path is not absolute", c.Path)
	}
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	if err := ctx.Err(); err != nil {
		return nil, ctx, cancel, fmt.Errorf("run %s: %w", c.Path, err)
	}
	p, err := start(ctx, c)
	if err != nil {
		return nil, ctx, cancel, fmt.Errorf("run %s: %w", c.Path, err)
	}
	return p, ctx, cancel, nil
}

// A process is a program that was started. Its output and err may be read once
// ended is closed.
type process struct {
	cmd       *exec.Cmd
	out, errs *capped
	told      *lineWriter // stderr, when somebody listens
	ended     chan struct{}
	err       error // of Wait
	onEnd     func()
	stopped   atomic.Bool // what the process leaves behind is to be killed
}

// start starts c. The life of the process is this package's to end, hence the
// context that is never done: os/exec would kill the program alone, not its group.
func start(ctx context.Context, c Command) (*process, error) {
	p := &process{
		cmd:   exec.CommandContext(context.WithoutCancel(ctx), c.Path, c.Args...), //nolint:gosec // running what the caller names is the purpose
		out:   newCapped(c.MaxOutput),
		errs:  newCapped(c.MaxOutput),
		ended: make(chan struct{}),
		onEnd: c.OnEnd,
	}
	p.cmd.Env = environment
	p.cmd.Dir = "/"
	p.cmd.Stdin = bytes.NewReader(c.Stdin)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	p.listen(c.OnStderrLine)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = grace
	if err := p.cmd.Start(); err != nil {
		p.deafen()
		return nil, err
	}
	go p.wait()
	return p, nil
}

// listen has tell called with the lines of stderr, until deafen.
func (p *process) listen(tell func(line string)) {
	if tell != nil {
		p.told = newLineWriter(p.errs, tell)
		p.cmd.Stderr = p.told
	}
}

func (p *process) deafen() {
	if p.told != nil {
		p.told.close()
	}
}

// wait reaps the process. ErrWaitDelay means that it succeeded and left
// something behind that holds its output open; that is ended as well. What the program
// itself has done and printed stands: a write that succeeded must not be reported as
// failed.
func (p *process) wait() {
	p.err = p.cmd.Wait()
	p.deafen()
	if errors.Is(p.err, exec.ErrWaitDelay) {
		p.signal(syscall.SIGKILL) //nolint:errcheck // gone is as good
		p.err = nil
	}
	if p.stopped.Load() { // its caller may be gone before insist gets to it
		p.signal(syscall.SIGKILL) //nolint:errcheck // gone is as good
	}
	if p.onEnd != nil {
		p.onEnd()
	}
	close(p.ended)
}

// stop asks the process to end and waits until it has, or patience is over. It
// goes on in the background with what is left to do.
func (p *process) stop(patience time.Duration, noKill bool) {
	if err := p.signal(syscall.SIGTERM); errors.Is(err, syscall.EPERM) {
		return
	}
	if !noKill {
		p.stopped.Store(true)
		go p.insist()
	}
	if patience <= 0 {
		patience = DefaultWaitDelay
	}
	enough := time.NewTimer(patience)
	defer enough.Stop()
	select {
	case <-p.ended:
	case <-enough.C:
	}
}

// insist kills the group when the program has ended or its grace is over: the
// program may be gone and what it started not.
func (p *process) insist() {
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-p.ended:
	case <-over.C:
	}
	p.signal(syscall.SIGKILL) //nolint:errcheck // gone is as good
}

// signal sends s to the process group. The number of an ended group is not
// given out again while a member is left, and not soon afterwards.
func (p *process) signal(s syscall.Signal) error {
	return syscall.Kill(-p.cmd.Process.Pid, s)
}

func (p *process) result() (Result, error) {
	r := Result{Stdout: p.out.kept.Bytes(), Stderr: p.errs.kept.Bytes()}
	if p.out.overflow || p.errs.overflow {
		return r, fmt.Errorf("run %s: %w", p.cmd.Path, ErrOutputTooLarge)
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		return r, fmt.Errorf("run %s: %w", p.cmd.Path, p.err)
	}
	r.Exit = exitStatus(p.cmd)
	return r, nil
}

// lastWords is the result of a process that was stopped, the zero Result while
// it is still there.
func (p *process) lastWords() Result {
	select {
	case <-p.ended:
		r, _ := p.result() //nolint:errcheck // the context's error says more
		return r
	default:
		return Result{}
	}
}

func exitStatus(cmd *exec.Cmd) int {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
