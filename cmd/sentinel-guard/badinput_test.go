// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// A server that reads and says nothing can be left alone: by a cancellation and the end of the
// input, by a client that is gone, and by a signal.
func TestAServerThatNeverAnswersCanBeLeft(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	script := ready + `read -r a; read -r b; echo "$b" >&2; cat >/dev/null; exit 5`
	for name, leave := range map[string]struct {
		how    func(p *program)
		status int
	}{
		"cancel": {func(p *program) {
			p.send(cancel)
			testenv.WaitFor(t, "the server is told", func() bool { return strings.Contains(p.said(), cancel) })
			p.in.Close()
		}, 5},
		"client gone": {func(p *program) { p.in.Close(); p.stdout.Close() }, 5},
		"signal":      {func(p *program) { p.cmd.Process.Signal(syscall.SIGTERM) }, 143},
	} {
		t.Run(name, func(t *testing.T) {
			p := guard(t, script)
			pid := p.pid()
			p.send(request)
			leave.how(p)
			if got := p.status(); got != leave.status {
				t.Errorf("status %d, want %d\n%s", got, leave.status, p.said())
			}
			gone(t, pid)
		})
	}
}

// zeros counts the bytes that are 0: the guard has a word to say on stderr too.
type zeros int64

func (z *zeros) Write(b []byte) (int, error) {
	*z += zeros(bytes.Count(b, []byte{0}))
	return len(b), nil
}

// flood is how many bytes a server writes to stderr in a test.
var flood = int64(256 << 20)

// A client that does not look at stderr holds up who writes there, and no message.
func TestAFloodOnStderrHoldsNoMessageUp(t *testing.T) {
	testenv.HangGuard(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := startWith(t, w, "--", "sh", "-c", ready+`head -c `+strconv.FormatInt(flood, 10)+` /dev/zero >&2 & while read -r line; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done; wait; exit 5`)
	w.Close()
	pid := p.pid()
	answered := func() {
		t.Helper()
		for range 100 {
			p.send(request)
			if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
				t.Fatal(got)
			}
		}
	}
	answered() // nobody reads stderr yet
	read := make(chan int64)
	go func() {
		var n zeros
		io.Copy(&n, r)
		read <- int64(n)
	}()
	answered()
	p.in.Close()
	if got := p.status(); got != 5 {
		t.Errorf("status %d", got)
	}
	if n := <-read; n != flood {
		t.Errorf("%d bytes came, want %d", n, flood)
	}
	gone(t, pid)
}

// fullPipe returns a pipe that takes no byte more until somebody reads it.
func fullPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := w.Write(make([]byte, 4<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe took %d bytes: %v", n, err)
	}
	w.SetWriteDeadline(time.Time{})
	return r, w
}

// The guard has something to say at its start, of noise, of refusals and of a record that cannot be
// written. Nobody reads it.
func TestAFullStderrHoldsNoMessageUp(t *testing.T) {
	testenv.HangGuard(t)
	t.Setenv("MCP_HITL_PORT", "1") // is named at the start
	noState(t)
	for name, reads := range map[string]bool{"read late": true, "never read": false} {
		t.Run(name, func(t *testing.T) {
			r, w := fullPipe(t)
			p := startWith(t, w, "--", "sh", "-c", ready+`while read -r line; do echo noise; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done; exit 5`)
			w.Close()
			pid := p.pid()
			for range 100 {
				p.send(request)
				if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
					t.Fatal(got)
				}
			}
			p.send(toolCall("2"))
			if got := p.line(); !strings.Contains(got, "GUARD_FAILED") {
				t.Error(got)
			}
			if reads {
				go io.Copy(p, r)
				for _, want := range []string{"MCP_HITL_PORT", "a line that is no message", "GUARD_FAILED", "The record cannot be written"} {
					testenv.WaitFor(t, want, func() bool { return strings.Count(p.said(), want) == 1 })
				}
			}
			p.in.Close()
			if got := p.status(); got != 5 {
				t.Errorf("status %d", got)
			}
			gone(t, pid)
		})
	}
}

// noState has the guards of a test record where nothing can be.
func noState(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(stateVariable, file)
}
