// SPDX-License-Identifier: Apache-2.0

// Command sentinel-mcp offers sentinel to an assistant over the Model Context Protocol.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"sentinel/internal/mcpserver"
)

func main() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // then writing to a client that is gone returns an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	status := mcpserver.Run(ctx, runtime.GOOS, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
