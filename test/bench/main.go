// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command bench measures sentinel and sentinel-mcp beside the programs that do
// the same work, and prints each figure as a ratio of one run.
//
// It makes its load, thousands of processes and sockets, in namespaces of its own and
// takes it away again. It reports and never decides: a bar that is not met is no failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limit bounds the whole run.
const limit = 11 * time.Minute

// The program starts itself again in these parts, named by its first argument.
const (
	partMeasure = "measure" // the first process of the namespaces
	partHold    = "hold"    // one that holds sockets
	partEcho    = "echo"    // a server behind the guard
	onlyGuard   = "guard"   // asked for: nothing but its rows, which need no namespaces
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := run(ctx, os.Args[1:])
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return buildAndMeasure(ctx)
	case args[0] == partMeasure && len(args) == 2:
		return measure(ctx, os.Stdout, programs{dir: args[1]})
	case args[0] == onlyGuard && len(args) == 1:
		return measureGuard(ctx)
	case args[0] == partEcho && len(args) == 1:
		return echo(os.Stdin, os.Stdout)
	case args[0] == partHold && len(args) == 3:
		return hold(args[1], args[2])
	}
	return errors.New("usage: go run ./test/bench [guard]")
}

// measureGuard prints the rows of the guard alone.
func measureGuard(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sentinel-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // left over at worst
	p := programs{dir}
	if err := compile(ctx, p.guard(), "sentinel/cmd/sentinel-guard"); err != nil {
		return err
	}
	rows, err := guardRows(ctx, p)
	if err != nil {
		return err
	}
	return print(os.Stdout, machine(), rows)
}

// buildAndMeasure builds what is measured and does the rest in namespaces.
func buildAndMeasure(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("sentinel is measured as root, in namespaces that only root can make; run it with sudo")
	}
	for _, tool := range []string{"go", "ss", "ps", "sleep", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w (Debian packages iproute2, nftables and procps)", err)
		}
	}
	dir, err := os.MkdirTemp("", "sentinel-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // left over at worst
	if err := build(ctx, dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, partMeasure, dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = namespaces()
	// The death signal follows the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("stopped before the end: %w", ctx.Err())
	}
	return err
}

// namespaces of processes, mounts and network. Everything in them ends with
// their first process, and that one with this.
func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET,
		Pdeathsig:  unix.SIGKILL,
	}
}
