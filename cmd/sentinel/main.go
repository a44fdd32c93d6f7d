// SPDX-License-Identifier: Apache-2.0

// Command sentinel reports the state of this machine, and changes it on request.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"sentinel/internal/cli"
	"sentinel/internal/elevation"
	"sentinel/internal/host/local"
)

func main() {
	ctx, args, relayed := local.Relayed(os.Args[1:])
	if local.Child(args, os.Stdout) {
		return
	}
	local.LeaveCaller(args, os.Getenv)
	// On a terminal sudo passes on Ctrl-Z: a user could stop a run as root while it holds a lock.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if elevation.IsRequest(args) {
		// sudo hands on what its user sends it, and the user may close the ends of its pipes.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGQUIT)
	} else {
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
	}
	status := run(ctx, args, relayed)
	stop()
	os.Exit(status)
}

// run leaves a request that changes something to a process of which sudo knows nothing.
func run(ctx context.Context, args []string, relayed bool) (status int) {
	if !relayed && cli.Records(args) {
		if status, done := local.Relay(ctx, args, os.Getenv); done {
			return status
		}
	}
	return cli.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr)
}
