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
	if local.Child(os.Args[1:], os.Stdout) {
		return
	}
	local.LeaveCaller(os.Args[1:], os.Getenv)
	// On a terminal sudo passes on Ctrl-Z: a user could stop a run as root while it holds a lock.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if elevation.IsRequest(os.Args) {
		// sudo hands on what its user sends it, and the user may close the ends of its pipes.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGQUIT)
	} else {
		context.AfterFunc(ctx, stop) // a second signal ends the program at once
	}
	status := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
