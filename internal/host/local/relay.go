// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"sentinel/internal/sysexec"
)

// relayed is the first argument of a run that another one stands before. The rules of sudo name each argument, so
// whom they limit cannot give it; whoever does loses no more than a run that ends early.
const relayed = "--relayed"

// Relay makes a run of its own of a request with these arguments that came through sudo, and hands on what it ends
// with: sudo kills the process that it started when its user sends it SIGALRM, or ends a sudo that has given the run a
// terminal, two seconds after it asked it to end. What is in the middle of a change then is a process that sudo does
// not know. It is told the end of this one, and of ctx. done is false where there is no need of that, and where there is
// no way, after which [Admit] refuses this run: sudo may forbid it to start programs, and who owns the control group let
// no further one begin there (pids.max).
func Relay(ctx context.Context, args []string, getenv func(string) string) (status int, done bool) {
	if !behindSudo(getenv) {
		return 0, false
	}
	runtime.LockOSThread() // the child has what the thread has that starts it
	defer runtime.UnlockOSThread()
	leaveMemory()
	own, err := os.Executable() // by its path: /proc/self/exe would have it called "exe"
	if err == nil {
		status, err = sysexec.Relay(ctx, own, append([]string{relayed}, args...))
	}
	if err != nil {
		notRelayed = fmt.Errorf("%w: %w", ErrNotRelayed, err)
	}
	return status, err == nil
}

// ErrNotRelayed means that the process could not be started that makes a change out of the reach of sudo.
var ErrNotRelayed = errors.New("a process that sudo does not know could not be started")

// notRelayed is why this run may make no change; nil for none.
var notRelayed error

// Relayed returns the arguments of a run without that of one which another stands before, and is then true. ctx ends when
// that one has ended, or was told to end this; it never does where there is none.
func Relayed(args []string) (ctx context.Context, rest []string, is bool) {
	var end unix.Stat_t
	if len(args) == 0 || args[0] != relayed || unix.Fstat(sysexec.RelayEnd, &end) != nil || end.Mode&unix.S_IFMT != unix.S_IFIFO {
		return context.Background(), args, false
	}
	unix.CloseOnExec(sysexec.RelayEnd)
	unix.SetNonblock(sysexec.RelayEnd, true) //nolint:errcheck // a thread waits for it otherwise
	pipe := os.NewFile(sysexec.RelayEnd, "relay")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		pipe.Read(make([]byte, 1)) //nolint:errcheck // the end is the message
		cancel()
	}()
	return ctx, args[1:], true
}
