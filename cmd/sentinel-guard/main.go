// SPDX-License-Identifier: Apache-2.0

// Command sentinel-guard stands between an MCP client and an MCP server.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"sentinel/internal/guard/cli"
)

func main() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // then writing to a client that is gone returns an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	status := cli.Run(ctx, runtime.GOOS, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
