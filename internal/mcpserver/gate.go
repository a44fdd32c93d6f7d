// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"log/slog"
	"sync"
	"time"

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

// A gate runs sentinel with the privilege that an operation can make use of
// and the host allows. It is safe for concurrent use.
type gate struct {
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

func newGate(runner sysexec.Runner, root bool, trusted func(string) error, now func() time.Time, log *slog.Logger) *gate {
	return &gate{
		runner: runner, root: root, trusted: trusted, now: now, log: log,
		turn: make(chan struct{}, 1), verdict: map[string]verdict{},
	}
}

// run runs the binary at path for op with stdin as its request.
//
// An operation that needs root and may not use sudo has to be refused here,
// with PERMISSION_DENIED, once the table holds one; those that are only better with
// root run without it then and say in their document what they could not read.
func (g *gate) run(ctx context.Context, op ops.Operation, path string, stdin []byte) (sysexec.Result, error) {
	plain := sysexec.Command{Path: path, Args: request(op), Stdin: stdin, Patience: patience}
	if op.Privilege == ops.AnyUser || !g.mayUseSudo(ctx, op, path) {
		return g.runner.Run(ctx, plain)
	}
	raised := plain
	raised.Path, raised.Args, raised.NoKill = sudo, append([]string{"-n", path}, plain.Args...), true
	result, err := g.runner.Run(ctx, raised)
	if op.Effect != ops.Read || ctx.Err() != nil || err == nil && isDocument(result.Stdout) {
		return result, err
	}
	// sudo said yes to the question and no to the run, or could not start the
	// program. A read can be tried again without harm; anything else could happen twice.
	g.log.Warn("sudo allowed the tool but did not run it; running it without root",
		"tool", op.Name, "exit", result.Exit, "stderr", firstLine(result.Stderr), "error", err)
	g.remember(op, path, false)
	return g.runner.Run(ctx, plain)
}

// request is the only spelling of a call. It is what the rules in sudoers name
// literally, so nothing in it depends on the caller.
func request(op ops.Operation) []string { return []string{"--request", op.Name} }

// mayUseSudo reports whether op may run through sudo. Who is root already
// needs none.
func (g *gate) mayUseSudo(ctx context.Context, op ops.Operation, path string) bool {
	if g.root {
		return false
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return false
	}
	if known, ok := g.recall(op, path); ok {
		return known && g.trusted(path) == nil
	}
	allowed := g.ask(ctx, op, path)
	if ctx.Err() == nil {
		g.remember(op, path, allowed)
	}
	return allowed
}

// ask finds out whether sudo would run op without a password. sudo itself does
// not care who can write the program that it runs as root; that is checked first.
func (g *gate) ask(ctx context.Context, op ops.Operation, path string) bool {
	if err := g.trusted(path); err != nil {
		// Every ordinary user has this at every start, and need not do anything.
		g.log.Info("root is not used: someone else could change what would run as root; "+
			"installing both programs where only root can write, such as /usr/local/bin, allows it", "error", err)
		return false
	}
	result, err := g.runner.Run(ctx, sysexec.Command{
		Path: sudo, Args: append([]string{"-n", "-l", path}, request(op)...),
		Timeout: askLimit, Patience: patience, NoKill: true,
	})
	if err != nil || result.Exit != 0 {
		g.log.Info("sudo does not allow the tool; it runs without root", "tool", op.Name, "stderr", firstLine(result.Stderr), "error", err)
		return false
	}
	return true
}

func (g *gate) recall(op ops.Operation, path string) (allowed, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.verdict[op.Name+" "+path]
	return v.allowed, ok && g.now().Before(v.until)
}

func (g *gate) remember(op ops.Operation, path string, allowed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.verdict[op.Name+" "+path] = verdict{allowed, g.now().Add(askAgain)}
}
