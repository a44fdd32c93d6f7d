// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sysexec

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// RelayEnd is the descriptor of what a program that [Relay] starts reads, and never gets anything from: its end says
// that the relay has ended, in whatever way, or was told to end the program.
const RelayEnd = 3

// Relay runs the program at path in the place of this one, with its streams and environment, in a session of its
// own (setsid(2)), and returns its exit status, or 128 plus the signal that ended it. The end of ctx is handed on
// by [RelayEnd]. The error says that the program was not started.
func Relay(ctx context.Context, path string, args []string) (status int, err error) {
	theirs, own, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("make a pipe: %w", err)
	}
	defer own.Close()                  //nolint:errcheck // nothing is written; until then it is not collected
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // the caller names this program, which ends by itself
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = launched(cmd)
	theirs.Close() //nolint:errcheck // nothing is read from it here
	if err != nil {
		return 0, err
	}
	context.AfterFunc(ctx, func() { own.Close() }) //nolint:errcheck // closing is the message
	cmd.Wait()                                     //nolint:errcheck // the status tells it
	return exitStatus(cmd), nil
}
