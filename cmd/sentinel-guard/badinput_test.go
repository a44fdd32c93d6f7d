// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
