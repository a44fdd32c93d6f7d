// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// roleVar names the part that a child process plays.
const roleVar = "SENTINEL_TRUTH_ROLE"

// roles are the processes that tests look at. All but barred and tunnels read orders from stdin, a
// line each, answer with a line each, and end at the end of their input.
func roles() map[string]func(*bufio.Scanner, io.Writer) error {
	return map[string]func(*bufio.Scanner, io.Writer) error{
		"barred":  playBarred,
		"sockets": playSockets,
		"tunnels": playTunnels,
		"worker":  playWorker,
	}
}

func play(name string) int {
	act, ok := roles()[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such role:", name)
		return 2
	}
	if err := act(bufio.NewScanner(os.Stdin), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		return 1
	}
	return 0
}

// An actor is a child process that plays a role.
type actor struct {
	t      *testing.T
	pid    int
	orders io.Writer
	lines  *bufio.Scanner
}

// hire starts a role, with more namespaces of its own where clone says so. The
// process ends with the test.
func hire(t *testing.T, role string, clone uintptr) *actor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*deadline)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVar+"="+role, "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: clone}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // the role ends either way
		if err := cmd.Wait(); err != nil {
			t.Errorf("role %s: %v", role, err)
		}
		cancel()
	})
	return &actor{t: t, pid: cmd.Process.Pid, orders: stdin, lines: bufio.NewScanner(stdout)}
}

// order sends a line and returns the answer.
func (a *actor) order(format string, args ...any) string {
	a.t.Helper()
	if _, err := fmt.Fprintf(a.orders, format+"\n", args...); err != nil {
		a.t.Fatal(err)
	}
	if !a.lines.Scan() {
		a.t.Fatalf("a role ended instead of answering: %v", a.lines.Err())
	}
	answer := a.lines.Text()
	if reason, failed := strings.CutPrefix(answer, "error: "); failed {
		a.t.Fatalf("a role failed: %s", reason)
	}
	return answer
}

// monotonic returns the kernel's monotonic clock in nanoseconds, which all
// processes share.
func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // documented to fail for bad arguments only
	}
	return now.Nano()
}
