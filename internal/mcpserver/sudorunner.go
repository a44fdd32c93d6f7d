// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
)

// permissionTTL is how long the answer of sudo about one tool is relied on. Each
// question writes a line to the host's log, and may send its administrator a mail.
const permissionTTL = 5 * time.Minute

// sudoTimeout bounds the question: sudo may have to ask a directory server.
const sudoTimeout = 5 * time.Second

// waitDelay is how long a cancelled call waits for its program, which ends within
// milliseconds of SIGTERM.
const waitDelay = 200 * time.Millisecond

// changeWaitDelay is the same for a call that changes something: its program
// finishes or undoes what it has begun, and only its document says which. It is less than grace,
// so that the answer is out before the server stops waiting for it.
const changeWaitDelay = 6 * time.Second

// A sudoRunner runs sentinel with the privilege that an operation can make use of
// and the host allows. It is safe for concurrent use.
type sudoRunner struct {
	machine elevation.Machine // without Program
	runner  sysexec.Runner
	root    bool               // this process is root already
	trusted func(string) error // why a file must not be run as root
	now     func() time.Time
	log     *slog.Logger

	asking      chan struct{} // one question at a time
	mu          sync.Mutex
	permissions map[string]permission // by tool and path
}

// A permission is what was found out about running one tool through sudo.
type permission struct {
	allowed bool
	until   time.Time
}

func newSudoRunner(machine elevation.Machine, runner sysexec.Runner, root bool, trusted func(string) error, now func() time.Time, log *slog.Logger) *sudoRunner {
	return &sudoRunner{
		machine: machine, runner: runner, root: root, trusted: trusted, now: now, log: log,
		asking: make(chan struct{}, 1), permissions: map[string]permission{},
	}
}

// run runs the binary at path for op with stdin as its request. An error may
// come with a result, that of a program which ended after its call did.
//
// An operation that sudo does not allow runs without root: sentinel says in its
// own document what it could not read, or that permission was denied.
func (s *sudoRunner) run(ctx context.Context, op ops.Operation, path string, stdin []byte) (sysexec.Result, error) {
	plain := command(op, path, stdin)
	plain.OnStderrLine = trackerOf(ctx).listener(op)
	if op.Privilege == ops.AnyUser || s.root {
		return s.runner.Run(ctx, plain)
	}
	if err := s.trusted(path); err != nil {
		return s.runUntrusted(ctx, op, plain, err)
	}
	if !s.mayUseSudo(ctx, op, path) {
		return s.runner.Run(ctx, plain)
	}
	elevated := elevation.Through(path, plain.Args, stdin)
	elevated.WaitDelay, elevated.OnStderrLine, elevated.Whole = plain.WaitDelay, plain.OnStderrLine, plain.Whole
	result, err := s.runner.Run(ctx, elevated)
	if ctx.Err() != nil || err == nil && isDocument(result.Stdout) {
		return result, err
	}
	return s.afterSudo(ctx, op, plain, result, err)
}

// command is a run of op without sudo. One that changes something is never
// killed: it keeps its own deadline, and leaves nothing half done.
func command(op ops.Operation, path string, stdin []byte) sysexec.Command {
	c := sysexec.Command{Path: path, Args: elevation.Request(op.Name), Stdin: stdin, WaitDelay: waitDelay, Whole: isDocument}
	if op.Changes() {
		c.WaitDelay, c.NoKill = changeWaitDelay, true
	}
	return c
}

// runUntrusted handles a binary that somebody else could change. sudo does not
// care who can write the program that it runs as root, so it is not used.
func (s *sudoRunner) runUntrusted(ctx context.Context, op ops.Operation, plain sysexec.Command, why error) (sysexec.Result, error) {
	if op.Privilege == ops.NeedsRoot {
		e := fault.Wrap(fault.PermissionDenied, op.Name+" needs root, and root is not used: someone else could change what would run as root", why)
		return s.denied(ctx, op, plain, e.WithFix(s.fix(ctx, plain.Path)))
	}
	// This is so for every ordinary user at every start, and needs no action.
	s.log.Info("root is not used: someone else could change what would run as root", "error", why, "fix", s.fix(ctx, plain.Path))
	return s.runner.Run(ctx, plain)
}

// afterSudo handles a run through sudo that printed no document although sudo had
// allowed it: "sudo -l" also allows what needs a password, which only the run shows. A read
// is tried again without root; anything else could happen twice.
func (s *sudoRunner) afterSudo(ctx context.Context, op ops.Operation, plain sysexec.Command, result sysexec.Result, err error) (sysexec.Result, error) {
	said := elevation.Refusal(result, err)
	if op.Effect == ops.Read || said != "" {
		s.log.Warn("sudo allowed the tool but did not run it", "tool", op.Name, "exit", result.Exit, "stderr", firstLine(result.Stderr), "error", err)
		s.remember(op, plain.Path, false)
	}
	switch {
	case op.Effect == ops.Read:
		return s.runner.Run(ctx, plain)
	case said != "":
		return s.denied(ctx, op, plain, fault.New(fault.PermissionDenied, op.Name+" needs root, and sudo did not run it: "+said).WithFix(s.fix(ctx, plain.Path)))
	default:
		return result, err
	}
}

// denied answers a call that is not run as root, with why. What is wrong with
// its arguments comes first: sentinel says it to everybody, and does nothing of this without root.
func (s *sudoRunner) denied(ctx context.Context, op ops.Operation, plain sysexec.Command, why error) (sysexec.Result, error) {
	if op.Privilege != ops.NeedsRoot {
		return sysexec.Result{}, why
	}
	result, err := s.runner.Run(ctx, plain)
	var said struct {
		Code fault.Code `json:"error_code"`
	}
	if err == nil && isDocument(result.Stdout) && json.Unmarshal(result.Stdout, &said) == nil && slices.Contains(ofForm, said.Code) {
		return result, nil
	}
	return sysexec.Result{}, why
}

// ofForm are the codes of arguments that have a wrong form.
var ofForm = []fault.Code{fault.InvalidArgument, fault.InvalidPID, fault.InvalidIP, fault.InvalidService, fault.InvalidTarget, fault.InvalidPortRange, fault.InvalidURL}

// fix says what helps this user to run the binary at path as root.
func (s *sudoRunner) fix(ctx context.Context, path string) string {
	m := s.machine
	m.Program, m.Programs, m.Trusted = path, s.runner, s.trusted
	return elevation.Look(ctx, m).Fix()
}

// mayUseSudo reports whether op may run through sudo.
func (s *sudoRunner) mayUseSudo(ctx context.Context, op ops.Operation, path string) bool {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return false
	}
	if known, ok := s.recall(op, path); ok {
		return known
	}
	allowed, known := s.ask(ctx, op, path)
	if known && ctx.Err() == nil {
		s.remember(op, path, allowed)
	}
	return allowed
}

// ask finds out whether a rule of sudo lets op run, without a password or with
// one. known is false where sudo could not be asked, which the next call may do.
func (s *sudoRunner) ask(ctx context.Context, op ops.Operation, path string) (allowed, known bool) {
	result, err := s.runner.Run(ctx, sysexec.Command{
		Path: elevation.Sudo, Args: append([]string{"-n", "-l", path}, elevation.Request(op.Name)...),
		Timeout: sudoTimeout, WaitDelay: waitDelay, NoKill: true,
	})
	if err != nil || result.Exit != 0 {
		s.log.Info("sudo does not allow the tool; it runs without root", "tool", op.Name, "stderr", firstLine(result.Stderr), "error", err)
		return false, elevation.Exhausted(result, err) == nil
	}
	return true, true
}

func (s *sudoRunner) recall(op ops.Operation, path string) (allowed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.permissions[op.Name+" "+path]
	return v.allowed, ok && s.now().Before(v.until)
}

func (s *sudoRunner) remember(op ops.Operation, path string, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.permissions[op.Name+" "+path] = permission{allowed, s.now().Add(permissionTTL)}
}
