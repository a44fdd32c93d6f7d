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
	"sync/atomic"
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
type zeros struct{ atomic.Int64 }

func (z *zeros) Write(b []byte) (int, error) {
	z.Add(int64(bytes.Count(b, []byte{0})))
	return len(b), nil
}

// flood is how many bytes a server writes to stderr in a test.
var flood = int64(256 << 20)

// pause is for how long a client stops reading in a test.
var pause = 2 * time.Second

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
	var read zeros
	go io.Copy(&read, r)
	answered()
	testenv.WaitFor(t, "all of it has come", func() bool { return read.Load() == flood }) // the end of the input would end it after a while
	p.in.Close()
	if got := p.status(); got != 5 {
		t.Errorf("status %d", got)
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

// Neither side reads until it has written all. The client does as the first.
func TestBothDirectionsMayBeFullAtOnce(t *testing.T) {
	const count = 2000
	notice := `{"jsonrpc":"2.0","method":"x","params":["` + strings.Repeat("x", 900) + `"]}`
	p := guard(t, `i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo '`+notice+`'; done; n=$(wc -l); echo '{"jsonrpc":"2.0","id":1,"result":{"lines":'$n'}}'; exit 5`)
	var written atomic.Int64
	go func() {
		defer p.in.Close()
		io.WriteString(p.in, request+"\n")
		for range count {
			io.WriteString(p.in, notice+"\n")
			written.Add(1)
		}
	}()
	<-time.After(300 * time.Millisecond)
	if n := written.Load(); n == 0 || n == count {
		t.Errorf("the client has written %d lines: the way to the server is not full", n)
	}
	for i := range count {
		if got := p.line(); got != notice {
			t.Fatalf("line %d: %.100s", i, got)
		}
	}
	if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{"lines":2001}}` {
		t.Error(got)
	}
	if got := p.status(); got != 5 {
		t.Errorf("status %d\n%s", got, p.said())
	}
}

// A last line without an end is one: it arrives, or is refused.
func TestALastLineNeedsNoEnd(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"bytes":40}}`
	for last, want := range map[string]string{request: answer, request + "\n": answer, request[:20]: `"code":"MESSAGE_MALFORMED"`, "\xef\xbb\xbf" + request: `"code":"MESSAGE_MALFORMED"`} {
		p := guard(t, `n=$(wc -c); [ $n = 0 ] || printf '{"jsonrpc":"2.0","id":1,"result":{"bytes":%d}}' $n; exit 5`)
		if _, err := io.WriteString(p.in, last); err != nil {
			t.Fatal(err)
		}
		p.in.Close()
		got, err := io.ReadAll(p.out)
		if want = strings.Replace(want, "40", strconv.Itoa(len(last)), 1); err != nil || string(got) != want && (want[0] == '{' || !strings.Contains(string(got), want)) {
			t.Errorf("%q: %s, want %s (%v)", last, got, want, err)
		}
		if got := p.status(); got != 5 {
			t.Errorf("%q: status %d\n%s", last, got, p.said())
		}
	}
}

// What a server prints before, between and after its messages is dropped, and told once.
func TestBannersOfAServerAreDropped(t *testing.T) {
	const banner = `printf 'Listening on stdio\n\n\033[32mready\033[0m\r\n{"level":"info","id":1}\n[INFO] {"jsonrpc":\n'; `
	p := guard(t, strings.Repeat(banner, 100)+ready+banner+`while read -r line; do `+banner+`echo '{"jsonrpc":"2.0","id":1,"result":{}}'; `+banner+`done; printf bye; exit 5`)
	pid := p.pid()
	for range 50 {
		p.send(request)
		if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Fatal(got)
		}
	}
	p.in.Close()
	if rest, err := io.ReadAll(p.out); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if got := p.status(); got != 5 || strings.Count(p.said(), "such lines are dropped") != 1 || strings.Contains(p.said(), "\x1b") {
		t.Errorf("status %d\n%s", got, p.said())
	}
	gone(t, pid)
}
