// SPDX-License-Identifier: Apache-2.0

package sysexec_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func shellText(text string) sysexec.Command {
	return sysexec.Command{Path: "/bin/sh", Args: []string{"-c", text}}
}

func TestStdoutIsPassedOnInsteadOfKept(t *testing.T) {
	var got strings.Builder
	c := shellText("head -c 100000 /dev/zero | tr '\\0' x; echo; echo no >&2; exit 3")
	c.MaxOutput = 1000
	c.OnStdout = func(p []byte) bool { got.Write(p); return true }
	r, err := sysexec.Host{}.Run(t.Context(), c)
	if err != nil || got.Len() != 100001 || len(r.Stdout) != 0 || string(r.Stderr) != "no\n" || r.Exit != 3 {
		t.Errorf("%d bytes passed, %+v, %v", got.Len(), r, err)
	}
}

// A program that would print for ever ends as soon as its reader has enough, also one that does not
// notice that its output is closed.
func TestAReaderThatHasEnoughEndsTheProgram(t *testing.T) {
	testenv.HangGuard(t)
	for _, text := range []string{"exec yes", "trap '' PIPE; while :; do echo y 2>/dev/null; done"} {
		calls := 0
		c := shellText(text)
		c.OnStdout = func([]byte) bool { calls++; return false }
		if r, err := (sysexec.Host{}).Run(t.Context(), c); err != nil || r.Exit != 0 || calls != 1 {
			t.Errorf("%s: status %d after %d calls, %v", text, r.Exit, calls, err)
		}
	}
}

// A program that floods its reader is not heard out.
func TestAProgramThatPrintsTooMuchIsEnded(t *testing.T) {
	testenv.HangGuard(t)
	for _, text := range []string{"exec yes", "exec yes >&2"} {
		c := shellText(text)
		c.MaxOutput, c.EndOver = 1000, true
		if r, err := (sysexec.Host{}).Run(t.Context(), c); !errors.Is(err, sysexec.ErrOutputTooLarge) || len(r.Stdout)+len(r.Stderr) != 1000 {
			t.Errorf("%s: %d and %d bytes, %v", text, len(r.Stdout), len(r.Stderr), err)
		}
	}
}

func TestNothingIsPassedAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	passed := make(chan struct{}, 1<<20)
	c := shellText("trap '' TERM; while :; do echo y; done")
	c.WaitDelay = time.Millisecond
	c.OnStdout = func([]byte) bool {
		cancel()
		passed <- struct{}{}
		return true
	}
	if _, err := (sysexec.Host{}).Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	n := len(passed)
	for range 1000 {
		if len(passed) != n {
			t.Fatal("a piece came after the end")
		}
	}
}
