// SPDX-License-Identifier: Apache-2.0

// Package sysexec runs other programs. It is the only place that does.
//
// A program is named by its absolute path, and gets a fixed environment and
// locale unless it acts for the user, a deadline and an output cap; there is never a shell. It runs in its own
// process group, so that what it started ends with it.
package sysexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultMaxOutput caps each output stream of a program, in bytes.
const DefaultMaxOutput = 4 << 20

// grace is how long a program may take to end after SIGTERM before it is killed,
// and how long a process that it left behind may keep its output open.
const grace = 5 * time.Second

// DefaultWaitDelay is how long Run waits for a program to end once its context has ended. It is a
// little longer than the time until SIGKILL, so that Run only gives up on a process that SIGKILL
// does not end, one stuck in the kernel on dead storage.
const DefaultWaitDelay = grace + time.Second

// environment begins that of every program. A fixed locale keeps output parseable, and a
// fixed time zone (in the form for which tzset(3) needs no file) makes the times in it unambiguous.
// Nothing is inherited from the caller.
var environment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C",
	"TZ=UTC0",
	"HOME=/",
}

// fixed returns the environment of a program. Where root alone can write, temporary files are there: every user can fill /tmp, and
// keep a program of root's from its work.
func fixed() []string {
	const ofRoot = "/run" // hier(7)
	if unix.Faccessat(unix.AT_FDCWD, ofRoot, unix.W_OK, unix.AT_EACCESS) != nil {
		return environment
	}
	return append(slices.Clip(environment), "TMPDIR="+ofRoot)
}

// ErrOutputTooLarge reports that a program printed more than its cap.
var ErrOutputTooLarge = errors.New("printed more than its output limit")

// A Command is one program to run.
type Command struct {
	Path      string   // absolute
	Args      []string // without the program's name
	Stdin     []byte
	Env       []string      // of a program that acts for the user with what is theirs, such as ssh; nil is the fixed one
	MaxOutput int           // bytes of each stream; 0 means DefaultMaxOutput
	EndOver   bool          // ends a program that prints more than MaxOutput, rather than hear it out
	Timeout   time.Duration // 0 means only the context's deadline
	// WaitDelay is how long Run waits for the program once the context has ended;
	// 0 means DefaultWaitDelay. What happens to the program does not depend on it.
	WaitDelay time.Duration
	// NewSession means that the program has no terminal (setsid(2)), which it could ask somebody at.
	NewSession bool
	// NoKill means that the program is sent SIGTERM but never SIGKILL. sudo relays SIGTERM to its
	// child; killed, it would leave the child running as root.
	NoKill bool
	// Whole, if set, reports whether stdout is a whole answer; it is called with all of it after each
	// piece that ends a line. A program that has given one and does not end soon is left to be killed: a
	// thread that waits for a file system which does not answer keeps its process, and the output of that,
	// although everything is said. The result then has no stderr, and the exit status 0.
	Whole func(stdout []byte) bool
	// OnEnd, if set, is called once when the program has ended: before Run returns, or later from
	// another goroutine if Run did not wait that long. It is also called if the program could not
	// be started.
	OnEnd func()
	// OnStdout, if set, is called with each piece of stdout as it arrives, in order, by one goroutine;
	// the piece is its own only during the call. The result then has no stdout, and MaxOutput is that of
	// stderr alone. It may block, which holds the program up. Once it returns false nothing more is
	// passed, and the program is ended: that is no error, and its exit status is 0.
	OnStdout func(piece []byte) bool
	// OnStderrLine, if set, is called with each line of stderr as it arrives, without its newline,
	// by one goroutine; the last calls may come after Run has returned. It may block without
	// blocking the program: the last 16 lines that arrive meanwhile are kept. Lines longer than 256
	// bytes are left out. The result contains stderr in any case.
	OnStderrLine func(line string)
}

// A Result is the output and the exit status of a program.
type Result struct {
	Stdout, Stderr []byte
	Exit           int // status, or 128 plus the signal that ended it
}

// A Runner runs commands. A program that ran and failed is a Result with its
// exit status, not an error, and so is one that left a process behind which kept its
// output open; an error means that it could not be started, exceeded its time, or
// printed too much. Run is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, c Command) (Result, error)
}

// Host runs commands on this machine.
type Host struct{}

var _ Runner = Host{}

// Run implements [Runner]. When ctx ends, the program's group is sent SIGTERM,
// and SIGKILL five seconds later unless the command has NoKill.
//
// Run does not wait for ever. A program that has not ended within WaitDelay is
// left running and reaped when it ends; Run does not wait at all for one that it may not
// signal, because that changes nothing. (Debian's sudo keeps the caller's real user id
// and can be signalled, kill(2); a program that also takes root's cannot.) Either way Run
// returns the context's error, with the result of a program that ended in time.
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
	case stdout := <-p.out.answered:
		return p.afterAnswer(ctx, stdout, c.NoKill)
	case <-ctx.Done():
		p.stop(c.WaitDelay, c.NoKill)
		p.passed.close()
		return p.resultIfEnded(), fmt.Errorf("run %s: %w", c.Path, ctx.Err())
	}
}

// lastMoments is how long a program that has given its answer may take to end.
const lastMoments = 2 * time.Second

// afterAnswer waits for a program that has given its answer. One that does not end is killed in the
// background, if it may be.
func (p *process) afterAnswer(ctx context.Context, stdout []byte, noKill bool) (Result, error) {
	over := time.NewTimer(lastMoments)
	defer over.Stop()
	select {
	case <-p.ended:
		return p.result()
	case <-ctx.Done():
	case <-over.C:
	}
	if !noKill {
		p.stopped.Store(true)
		go p.killGroupLater()
	}
	return Result{Stdout: stdout}, nil
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
	cmd         *exec.Cmd
	out, errs   *capped
	passed      *passing    // nil without OnStdout
	stderrLines *lineWriter // nil without OnStderrLine
	ended       chan struct{}
	err         error // of Wait
	onEnd       func()
	stopped     atomic.Bool // processes left in the group are to be killed
}

// start starts c. Its context never ends, because os/exec would kill the program
// without its group; this package does that.
func start(ctx context.Context, c Command) (*process, error) {
	p := &process{
		cmd:   exec.CommandContext(context.WithoutCancel(ctx), c.Path, c.Args...), //nolint:gosec // running what the caller names is the purpose
		out:   newCapped(c.MaxOutput),
		errs:  newCapped(c.MaxOutput),
		ended: make(chan struct{}),
		onEnd: c.OnEnd,
	}
	p.cmd.Env = fixed()
	if c.Env != nil {
		p.cmd.Env = c.Env
	}
	p.cmd.Dir = "/"
	p.cmd.Stdin = bytes.NewReader(c.Stdin)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	if c.EndOver {
		p.out.over, p.errs.over = p.end, p.end
	}
	if c.Whole != nil {
		p.out.whole, p.out.answered = c.Whole, make(chan []byte, 1)
	}
	p.passStdout(c.OnStdout)
	p.watchStderr(c.OnStderrLine)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !c.NewSession, Setsid: c.NewSession} // a new session has a new group
	p.cmd.WaitDelay = grace
	if err := launched(p.cmd); err != nil {
		p.closeStderrLines()
		return nil, err
	}
	go p.wait()
	return p, nil
}

// passStdout calls f with what the program prints, instead of keeping it.
func (p *process) passStdout(f func([]byte) bool) {
	if f != nil {
		p.passed = &passing{to: f, enough: p.end}
		p.cmd.Stdout = p.passed
	}
}

// end asks the program to end.
func (p *process) end() {
	p.signal(syscall.SIGTERM) //nolint:errcheck // gone is as good
}

// watchStderr calls f with the lines of stderr, until closeStderrLines.
func (p *process) watchStderr(f func(line string)) {
	if f != nil {
		p.stderrLines = newLineWriter(p.errs, f)
		p.cmd.Stderr = p.stderrLines
	}
}

func (p *process) closeStderrLines() {
	if p.stderrLines != nil {
		p.stderrLines.close()
	}
}

// wait reaps the process. ErrWaitDelay means that it succeeded and left a process behind which
// keeps its output open; that process is killed. The result is the program's own: a write that
// succeeded must not be reported as failed.
func (p *process) wait() {
	p.err = p.cmd.Wait()
	p.closeStderrLines()
	if errors.Is(p.err, exec.ErrWaitDelay) {
		p.signal(syscall.SIGKILL) //nolint:errcheck // gone is as good
		p.err = nil
	}
	if p.stopped.Load() { // this process may end before killGroupLater does it
		p.signal(syscall.SIGKILL) //nolint:errcheck // gone is as good
	}
	if p.onEnd != nil {
		p.onEnd()
	}
	close(p.ended)
}

// stop sends SIGTERM and waits until the process has ended, for at most
// waitDelay. Killing it, if need be, goes on in the background.
func (p *process) stop(waitDelay time.Duration, noKill bool) {
	if err := p.signal(syscall.SIGTERM); errors.Is(err, syscall.EPERM) {
		return
	}
	if !noKill {
		p.stopped.Store(true)
		go p.killGroupLater()
	}
	if waitDelay <= 0 {
		waitDelay = DefaultWaitDelay
	}
	over := time.NewTimer(waitDelay)
	defer over.Stop()
	select {
	case <-p.ended:
	case <-over.C:
	}
}

// killGroupLater kills the group once the program has ended or grace is over: what
// it started may still run.
func (p *process) killGroupLater() {
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-p.ended:
	case <-over.C:
	}
	p.signal(syscall.SIGKILL) //nolint:errcheck // gone is as good
}

// signal sends s to the process group. The kernel does not reuse the number of a
// group while a member is left, nor soon afterwards.
func (p *process) signal(s syscall.Signal) error {
	return syscall.Kill(-p.cmd.Process.Pid, s)
}

func (p *process) result() (Result, error) {
	r := Result{Stdout: p.out.kept.Bytes(), Stderr: p.errs.kept.Bytes()}
	if p.passed != nil && p.passed.done {
		return r, nil
	}
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

// resultIfEnded is the result of a process that was stopped, or the zero Result
// while it still runs.
func (p *process) resultIfEnded() Result {
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
