// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// A program is a running sentinel-mcp whose sentinel tells the test, through
// named pipes, when it has started and when it is gone.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout *os.File
	out    *bufio.Reader
	stderr bytes.Buffer
	up     string // pipe through which sentinel reports that it runs
	held   string // pipe that ends when sentinel does
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startWith(t, "", args...)
}

// startWith starts a server whose sentinel runs prelude first.
func startWith(t *testing.T, prelude string, args ...string) *program {
	t.Helper()
	p := &program{t: t, up: pipe(t), held: pipe(t)}
	sentinel := fake(t, prelude+"exec 3>"+p.held+"; echo up >"+p.up+"; exec sleep 600")
	p.cmd = exec.Command("sentinel-mcp", append([]string{"--sentinel", sentinel}, args...)...)
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.out = r, bufio.NewReader(r)
	p.cmd.Stdout, p.cmd.Stderr = w, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { r.Close() })
	return p
}

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p *program) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) receive() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v; stderr %s", err, p.stderr.String())
	}
	return line
}

// call sends a call and returns once its sentinel runs, with a channel that is closed when it has
// ended.
func (p *program) call() <-chan struct{} {
	p.t.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := os.ReadFile(p.held); err != nil {
			p.t.Error(err)
		}
	}()
	p.send(callLine)
	if _, err := os.ReadFile(p.up); err != nil {
		p.t.Fatal(err)
	}
	return gone
}

// status waits for the end of the server and returns its exit status, -1 when
// a signal ended it.
func (p *program) status() int {
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func TestCancelEndsTheProgram(t *testing.T) {
	p := start(t)
	gone := p.call()
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-gone
	p.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := p.receive(); !strings.Contains(got, `"id":2`) {
		t.Errorf("after a cancelled call, which gets no answer: %s", got)
	}
	p.in.Close()
	if got := p.status(); got != 0 || p.stderr.Len() > 0 {
		t.Errorf("status %d, stderr %q; want 0 and nothing", got, p.stderr.String())
	}
}

func TestSignalCancelsAndAnswersCalls(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			p := start(t)
			gone := p.call()
			if err := p.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if got := p.receive(); !strings.Contains(got, `"error_code":"CANCELLED"`) {
				t.Errorf("answer %s", got)
			}
			<-gone
			if got := p.status(); got != 130 {
				t.Errorf("status %d, want 130", got)
			}
		})
	}
}

// closed checks what is left when the client has closed its reading end.
func closed(t *testing.T, p *program) {
	t.Helper()
	if got := p.status(); got != 1 {
		t.Errorf("status %d, want 1", got)
	}
	got := p.stderr.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "the client no longer reads answers") {
		t.Errorf("stderr %q, want one line that says why", got)
	}
}

func TestClosedStdoutCancelsCallsAtOnce(t *testing.T) {
	p := start(t)
	gone := p.call()
	p.stdout.Close()
	select {
	case <-gone:
	case <-time.After(20 * time.Second): // less than the time limit, which would end it too
		t.Fatal("the call goes on")
	}
	closed(t, p)
}

func TestClosedStdoutIsFoundWhenAnswering(t *testing.T) {
	p := start(t)
	p.stdout.Close()
	io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n") // the server may be gone already
	closed(t, p)
}

func TestSeveralCallsRunSideBySide(t *testing.T) {
	p := start(t)
	gone := p.call()
	p.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	if got := p.receive(); !strings.Contains(got, `"id":"list"`) {
		t.Errorf("answer while a call runs: %.200s", got)
	}
	p.in.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-gone
	p.status()
}

// TestLongLineCostsNoMemory sends 64 MiB on one line.
func TestLongLineCostsNoMemory(t *testing.T) {
	p := start(t)
	chunk := strings.Repeat("x", 1<<20)
	for range 64 {
		if _, err := io.WriteString(p.in, chunk); err != nil {
			t.Fatal(err)
		}
	}
	p.send("")
	if got := p.receive(); !strings.Contains(got, "longer than 1 MiB") {
		t.Errorf("answer %s", got)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	testenv.Need(t, err == nil, "/proc, to read the peak memory of a process")
	var peak int
	_, after, _ := strings.Cut(string(raw), "VmHWM:") // proc(5), in KiB
	if _, err := fmt.Sscan(after, &peak); err != nil {
		t.Fatal(err)
	}
	const most = 56 << 10
	if peak > most {
		t.Errorf("peak memory %d KiB, want at most %d", peak, most)
	}
	p.in.Close()
	p.status()
}

// TestProgramThatIgnoresTheSignalDoesNotOutliveTheServer matters because it is the server that
// kills it.
func TestProgramThatIgnoresTheSignalDoesNotOutliveTheServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the grace of five seconds")
	}
	for name, end := range map[string]func(*program){
		"end of input": func(p *program) {
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			p.in.Close()
		},
		"signal": func(p *program) { p.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startWith(t, "trap '' TERM;")
			gone := p.call()
			end(p)
			p.status()
			select {
			case <-gone:
			case <-time.After(testenv.HangLimit):
				t.Error("the program outlives the server")
			}
		})
	}
}

// A thread that waits for a file system which does not answer keeps sentinel from ending.
func TestAStuckSentinelKeepsNoAnswerBack(t *testing.T) {
	testenv.HangGuard(t)
	p := startWith(t, `trap '' TERM; echo '{"success":true,"action":"top_processes"}'; `)
	p.send(callLine)
	if answer := p.receive(); !strings.Contains(answer, `"structuredContent":{"success":true,`) {
		t.Error(answer)
	}
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v; stderr %s", err, p.stderr.String())
	}
}
