// SPDX-License-Identifier: Apache-2.0

// Package mcpserver is the program sentinel-mcp: it offers the operations of
// sentinel as tools of the Model Context Protocol, over standard input and output.
//
// The server is thin and holds no privilege. A call of a tool becomes one run
// of "sentinel --request TOOL" with the arguments as JSON on standard input, through
// sudo where root sees more and the host allows it, and what sentinel prints becomes the
// answer unchanged. A failure is a document too: sentinel's own or, when it printed none, one of
// the same form. mcp-go handles the protocol; how lines reach it and answers leave it is
// this package's own, see [transport].
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/internal/trust"
	"sentinel/internal/version"
)

// Run runs sentinel-mcp on an operating system, as runtime.GOOS names it, with
// the arguments of its command line, without the program's name. It returns the exit status:
// 0 when the client has closed stdin and every request was answered, 1 when one could not
// be, 2 for a wrong command line, 130 when ctx ended. stdout carries nothing but the
// protocol, except with --install or --uninstall, which configure a client instead.
func Run(ctx context.Context, goos string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	table := ops.All()
	o, err := parseOptions(args, table)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "%s: %s\nRun: %s --help\n", Name, sanitize.Text(err.Error(), 500), Name) //nolint:errcheck // nowhere to report to
		return fault.ExitUsage
	case o.help:
		fmt.Fprintf(stdout, help, o.usage) //nolint:errcheck // nowhere to report to
		return fault.ExitOK
	case o.version:
		fmt.Fprintf(stdout, "%s %s\n", Name, version.Number) //nolint:errcheck // nowhere to report to
		return fault.ExitOK
	case o.shell != "":
		fmt.Fprint(stdout, o.completions()) //nolint:errcheck // nowhere to report to
		return fault.ExitOK
	case o.manage.requested():
		return o.manage.run(ctx, goos, stdout, stderr)
	}
	if onTerminal(stdin) {
		fmt.Fprint(stderr, greeting) //nolint:errcheck // nowhere to report to
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: o.level}))
	keepThreads()
	running := &programs{runner: sysexec.Host{}}
	o.hosts = otherHosts(o.hosts, log)
	offered := selected(table, o)
	h := &handler{
		questions: make(chan struct{}, maxQuestions),
		tools:     namesOf(offered),
		hosts:     o.hosts,
		locate:    locate(o.sentinel),
		sudo:      newSudoRunner(elevation.Machine{Root: "/", OS: goos, UID: privilege.RealUID(), Groups: privilege.Groups()}, running, privilege.IsRoot(), trust.RootOnly.File, time.Now, log),
		limit:     o.timeout,
		log:       log,
	}
	s := newServer(offered, o.hosts, h.toolHandler)
	result := status(newTransport(s, stdout, o.timeout, log).serve(ctx, stdin), log)
	running.finish(sysexec.DefaultWaitDelay, log)
	return result
}

const help = `sentinel-mcp offers sentinel to an assistant over the Model Context Protocol.
A client starts it and talks to it on standard input and output.

Flags:
%s
Exit status: 0 end of input or done, 1 an answer could not be given or a client
not be configured, 2 usage, 130 interrupted.
`

// greeting is for a person who started the server by hand. It serves all the same,
// because some clients give their servers a terminal.
const greeting = `This is sentinel-mcp, a server for assistants. It waits for messages of the
Model Context Protocol, and has nothing to show here. A client starts it:

  sentinel-mcp --install claude-desktop     --help lists the other clients
  ssh HOST sentinel-mcp                     as the command, for another machine

To see yourself how this machine is doing: sentinel
Waiting for messages; Control-D ends it.
`

// onTerminal says that a person types the input.
func onTerminal(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func status(err error, log *slog.Logger) int {
	switch {
	case err == nil:
		return fault.ExitOK
	case errors.Is(err, errClientGone):
		log.Error("the client no longer reads answers; its calls were cancelled", "error", err)
		return fault.ExitFailed
	case errors.Is(err, errUnanswered):
		log.Error("the input has ended and not every request was answered", "error", err)
		return fault.ExitFailed
	default:
		log.Info("interrupted; running calls were cancelled", "cause", err)
		return fault.ExitInterrupted
	}
}
