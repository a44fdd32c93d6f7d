// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
)

// sudo is the absolute path of sudo on every supported system.
const sudo = "/usr/bin/sudo"

// askAgain is how long the answer of sudo about one tool is relied on. Every
// question is a line in the host's log, and may be a mail to its administrator.
const askAgain = 5 * time.Minute

// askLimit bounds the question: sudo may have to ask a directory server.
const askLimit = 5 * time.Second

// patience is how long a call that has been cancelled waits for its program.
// sentinel ends within milliseconds of SIGTERM; the caller waits for no longer.
const patience = 200 * time.Millisecond

// changePatience is that of a call that changes something: its program finishes
// or takes back what it has begun, and its document is the only one that knows which. It stays
// below spare, so that the answer is out before the server gives up waiting for it.
const changePatience = 6 * time.Second

// A sudoRunner runs sentinel with the privilege that an operation can make use of
// and the host allows. It is safe for concurrent use.
type sudoRunner struct {
	runner  sysexec.Runner
	root    bool               // this process is root already
	trusted func(string) error // why a file must not be run as root
	now     func() time.Time
	log     *slog.Logger

	turn    chan struct{} // one question at a time
	mu      sync.Mutex
	verdict map[string]verdict // by tool and path
}

// A verdict is what was found out about running one tool through sudo.
type verdict struct {
	allowed bool
	until   time.Time
}

func newSudoRunner(runner sysexec.Runner, root bool, trusted func(string) error, now func() time.Time, log *slog.Logger) *sudoRunner {
	return &sudoRunner{
		runner: runner, root: root, trusted: trusted, now: now, log: log,
		turn: make(chan struct{}, 1), verdict: map[string]verdict{},
	}
}

// run runs the binary at path for op with stdin as its request. Together with
// an error there may be a result: of a program that ended after its call did.
//
// An operation that sudo does not allow runs without root: sentinel says in its
// own document what it could not read, or that it was denied.
func (g *sudoRunner) run(ctx context.Context, op ops.Operation, path string, stdin []byte) (sysexec.Result, error) {
	plain := command(op, path, stdin)
	plain.OnStderrLine = trackerOf(ctx).listener(op)
	if op.Privilege == ops.AnyUser || g.root {
		return g.runner.Run(ctx, plain)
	}
	if err := g.trusted(path); err != nil {
		return g.runUntrusted(ctx, op, plain, err)
	}
	if !g.mayUseSudo(ctx, op, path) {
		return g.runner.Run(ctx, plain)
	}
	raised := plain
	raised.Path, raised.Args, raised.NoKill = sudo, append([]string{"-n", path}, plain.Args...), true
	result, err := g.runner.Run(ctx, raised)
	if ctx.Err() != nil || err == nil && isDocument(result.Stdout) {
		return result, err
	}
	return g.refused(ctx, op, plain, result, err)
}

// command is a run of op without sudo. One that changes something is never
// killed: it ends at its own deadline, with nothing left half done.
func command(op ops.Operation, path string, stdin []byte) sysexec.Command {
	c := sysexec.Command{Path: path, Args: request(op), Stdin: stdin, WaitDelay: patience}
	if changes(op) {
		c.WaitDelay, c.NoKill = changePatience, true
	}
	return c
}

// changes says that op changes this machine.
func changes(op ops.Operation) bool { return op.Effect == ops.Write || op.Effect == ops.Destructive }

// runUntrusted handles a binary that somebody else could change. sudo does not
// care who can write the program that it runs as root, so it is not used.
func (g *sudoRunner) runUntrusted(ctx context.Context, op ops.Operation, plain sysexec.Command, why error) (sysexec.Result, error) {
	if op.Privilege == ops.NeedsRoot {
		e := fault.Wrap(fault.PermissionDenied, op.Name+" needs root, and root is not used: someone else could change what would run as root", why)
		return sysexec.Result{}, e.WithFix(placement(runtime.GOOS))
	}
	// Every ordinary user has this at every start, and need not do anything.
	g.log.Info("root is not used: someone else could change what would run as root; "+
		"installing both programs where only root can write, such as /usr/local/bin, allows it", "error", why)
	return g.runner.Run(ctx, plain)
}

// placement is how both programs get to where only root can write. Homebrew on
// an Intel Mac gives /usr/local/bin to the user who installed it, and needs it so; sentinel, which
// can look at the directory, says what fits there.
func placement(system string) string {
	if system == "darwin" {
		return "Install both programs where only root can write, which /usr/local/bin is not on a Mac where Homebrew has it; see what fits this Mac with: sentinel --doctor"
	}
	return "Install both programs where only root can write, as with: sudo install -o root -g root -m 0755 sentinel sentinel-mcp /usr/local/bin"
}

// refused handles a run through sudo that brought no document although sudo had
// said yes. It says yes to rules that want a password too, and only the run shows that. A read
// can be tried again without root; anything else could happen twice.
func (g *sudoRunner) refused(ctx context.Context, op ops.Operation, plain sysexec.Command, result sysexec.Result, err error) (sysexec.Result, error) {
	said := words(result, err)
	if op.Effect == ops.Read || said != "" {
		g.log.Warn("sudo allowed the tool but did not run it", "tool", op.Name, "exit", result.Exit, "stderr", firstLine(result.Stderr), "error", err)
		g.remember(op, plain.Path, false)
	}
	switch {
	case op.Effect == ops.Read:
		return g.runner.Run(ctx, plain)
	case said != "":
		return sysexec.Result{}, fault.New(fault.PermissionDenied, op.Name+" needs root, and sudo did not run it: "+said).WithFix(allowIt)
	default:
		return result, err
	}
}

// allowIt is what an administrator can do about a tool that sudo refuses.
const allowIt = "Allow the tool without a password in sudoers: install packaging/sudoers.d/sentinel as /etc/sudoers.d/sentinel with visudo, then check with: sentinel --doctor"

// words returns what sudo said when it refused, "" when it was the program
// that failed. sudo exits with 1 for both (sudo(8), "EXIT VALUE"), but sentinel never ends
// that way without a document.
func words(result sysexec.Result, err error) string {
	if start, ok := errors.AsType[*fs.PathError](err); ok {
		return "it cannot be started (" + start.Err.Error() + ")."
	}
	if err != nil || result.Exit != 1 || len(bytes.TrimSpace(result.Stdout)) > 0 {
		return ""
	}
	for line := range strings.Lines(string(result.Stderr)) {
		if strings.HasPrefix(line, "sudo: ") || strings.HasPrefix(line, "sudo-rs: ") || strings.HasPrefix(line, "Sorry, ") {
			return firstLine([]byte(line))
		}
	}
	return ""
}

// request is the only spelling of a call. It is what the rules in sudoers name
// literally, so nothing in it depends on the caller.
func request(op ops.Operation) []string { return []string{"--request", op.Name} }

// mayUseSudo reports whether op may run through sudo.
func (g *sudoRunner) mayUseSudo(ctx context.Context, op ops.Operation, path string) bool {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return false
	}
	if known, ok := g.recall(op, path); ok {
		return known
	}
	allowed := g.ask(ctx, op, path)
	if ctx.Err() == nil {
		g.remember(op, path, allowed)
	}
	return allowed
}

// ask finds out whether a rule of sudo lets op run, without a password or with
// one.
func (g *sudoRunner) ask(ctx context.Context, op ops.Operation, path string) bool {
	result, err := g.runner.Run(ctx, sysexec.Command{
		Path: sudo, Args: append([]string{"-n", "-l", path}, request(op)...),
		Timeout: askLimit, WaitDelay: patience, NoKill: true,
	})
	if err != nil || result.Exit != 0 {
		g.log.Info("sudo does not allow the tool; it runs without root", "tool", op.Name, "stderr", firstLine(result.Stderr), "error", err)
		return false
	}
	return true
}

func (g *sudoRunner) recall(op ops.Operation, path string) (allowed, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.verdict[op.Name+" "+path]
	return v.allowed, ok && g.now().Before(v.until)
}

func (g *sudoRunner) remember(op ops.Operation, path string, allowed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verdict[op.Name+" "+path] = verdict{allowed, g.now().Add(askAgain)}
}
