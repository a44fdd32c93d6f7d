// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sentinel/internal/testenv"
)

func TestMain(m *testing.M) {
	var state string
	if os.Getenv(stateVariable) == "" { // not a guard that a test runs: all of them record below here
		var err error
		if state, err = os.MkdirTemp("", "guard-state"); err != nil {
			panic(err)
		}
		os.Setenv(stateVariable, state)
	}
	testscript.Main(tests{m, state}, programs)
}

// tests take the folder of the records away, since [testscript.Main] does not return.
type tests struct {
	*testing.M
	state string
}

func (t tests) Run() int {
	defer os.RemoveAll(t.state)
	return t.M.Run()
}

// programs are what this binary is under other names.
var programs = map[string]func(){"sentinel-guard": main}

const stateVariable = "XDG_STATE_HOME"

// A program is a running sentinel-guard in the hands of a client.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout *os.File
	out    *bufio.Reader

	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write takes what the guard and its server write to stderr.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// guard starts the guard with a server that is a shell script.
func guard(t *testing.T, script string, args ...string) *program {
	t.Helper()
	return start(t, append([]string{"--", "sh", "-c", script, "server"}, args...)...)
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith starts the guard with a stderr, nil for the one that said returns.
func startWith(t *testing.T, stderr *os.File, args ...string) *program {
	t.Helper()
	return startCommand(t, stderr, exec.Command("sentinel-guard", args...))
}

func startCommand(t *testing.T, stderr *os.File, cmd *exec.Cmd) *program {
	t.Helper()
	testenv.HangGuard(t)
	p := &program{t: t, cmd: cmd}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.out = r, bufio.NewReader(r)
	p.cmd.Stdout, p.cmd.Stderr = w, p
	if stderr != nil {
		p.cmd.Stderr = stderr
	}
	mark := "LC_GUARD=" + rand.Text() // passes under environment: minimal
	p.cmd.Env = append(os.Environ(), "GIVEN_BY_CLIENT=yes", mark)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		r.Close()
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
		noneLeft(t, mark)
	})
	return p
}

// noneLeft checks that no process is left that a guard has started, nor one that such a process has:
// all of them have its variable. On macOS nobody can look.
func noneLeft(t *testing.T, variable string) {
	t.Helper()
	testenv.WaitAtMost(t, 20*time.Second, "no process is left of a guard that has ended", func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		return !slices.ContainsFunc(all, func(path string) bool {
			raw, _ := os.ReadFile(path)
			return bytes.Contains(raw, []byte(variable))
		})
	})
}

func (p *program) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.said())
	}
	return strings.TrimSuffix(line, "\n")
}

// status waits for the end and returns the exit status.
func (p *program) status() int {
	p.t.Helper()
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

const request = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// ready is what a script does to say that it runs, as a line that passes.
const ready = `echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"'$$'"}}'; `

// pid reads the line of a script that is ready and returns its process number.
func (p *program) pid() int {
	p.t.Helper()
	line := p.line()
	_, rest, _ := strings.Cut(line, `"data":"`)
	n, err := strconv.Atoi(strings.TrimSuffix(rest, `"}}`))
	if err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return n
}

func gone(t *testing.T, pid int) {
	t.Helper()
	testenv.WaitFor(t, fmt.Sprintf("process %d is gone", pid), func() bool {
		return syscall.Kill(pid, 0) == syscall.ESRCH || zombie(pid)
	})
}

// zombie says that a process has ended and nobody has asked how: who does so late is init.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && strings.HasPrefix(state, "Z")
}

func TestTheExitStatusIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -15 $$": 143} {
		p := guard(t, script)
		if got := p.status(); got != want {
			t.Errorf("%s: status %d, want %d", script, got, want)
		}
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"no-such-command": 127, "/no/such/command": 127, plain: 126} {
		p := start(t, "--", command)
		p.send(request)
		if got := p.line(); !strings.Contains(got, `"id":1,`) || !strings.Contains(got, "SERVER_GONE") {
			t.Errorf("%s: %s", command, got)
		}
		if got := p.status(); got != want || !strings.Contains(p.said(), "could not be started") {
			t.Errorf("%s: status %d, want %d\n%s", command, got, want, p.said())
		}
	}
}

func TestAServerThatDiesAnswersWhatIsOpen(t *testing.T) {
	p := guard(t, "read -r line; exit 3")
	p.send(request)
	p.send(strings.Replace(request, "1", `"late"`, 1))
	for range 2 {
		if got := p.line(); !strings.Contains(got, `"SERVER_GONE"`) {
			t.Error(got)
		}
	}
	if got := p.status(); got != 3 {
		t.Errorf("status %d", got)
	}
}

// What a client and a server have of each other without the guard they have with it.
func TestTheServerIsStartedAsByTheClient(t *testing.T) {
	p := guard(t, `printf 'from the server \377\n' >&2; echo "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[\"$GIVEN_BY_CLIENT $PWD $0 $1\"]}"; cat >/dev/null; exit 4`, "an argument")
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.line(), `{"jsonrpc":"2.0","method":"x","params":["yes `+dir+` server an argument"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.in.Close()
	if got := p.status(); got != 4 || !strings.Contains(p.said(), "from the server \xff\n") {
		t.Errorf("status %d\n%s", got, p.said())
	}
}

func TestSignalsReachTheServer(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			p := guard(t, `trap 'exit 5' `+name+`; `+ready+`while :; do read -r line || exit 6; done`)
			p.pid()
			if err := p.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			p.send(request) // some shells run the trap when the read is over
			if got := p.status(); got != 5 {
				t.Errorf("status %d\n%s", got, p.said())
			}
		})
	}
}

// SIGHUP is the guard's own: it reads the rules anew, and keeps those in force when the new ones
// are wrong. The server sees nothing of it.
func TestHangupReadsTheRulesAnew(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "guard.yaml")
	write := func(text string) {
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules: [{name: first, action: block, tools: [t]}]")
	t.Setenv("MCP_POLICY_FILE", rules)
	p := guard(t, ready+`while read -r line; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done; exit 5`)
	p.pid()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
	for _, step := range []struct{ rules, says, answer string }{
		{"", "", `"rule":"first"`},
		{"rules: [{name: second, action: block, tools: [t]}]", "were read anew", `"rule":"second"`},
		{"rules: [", "the rules in force stay", `"rule":"second"`},
	} {
		if step.rules != "" {
			write(step.rules)
			if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			testenv.WaitFor(t, "the rules are read", func() bool { return strings.Contains(p.said(), step.says) })
		}
		p.send(call)
		if got := p.line(); !strings.Contains(got, step.answer) {
			t.Errorf("%q: %s", step.rules, got)
		}
	}
	p.in.Close()
	if got := p.status(); got != 5 {
		t.Errorf("status %d\n%s", got, p.said())
	}
}

func TestAGuardDoesNotStartWithRulesThatAreWrong(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(rules, []byte("rules:\n  - {name: r, action: shut}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCP_POLICY_FILE", rules)
	p := guard(t, `cat`)
	if got := p.status(); got != 70 || !strings.Contains(p.said(), "guard.yaml:2:23: action is \"shut\"") {
		t.Errorf("status %d\n%s", got, p.said())
	}
}

func TestAServerThatIgnoresSIGTERMIsKilledWithWhatItStarted(t *testing.T) {
	t.Parallel()
	p := guard(t, `trap '' TERM; (`+ready+`exec sleep 600) & wait; exec sleep 600`)
	pid := p.pid()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if got := p.status(); got != 137 {
		t.Errorf("status %d", got)
	}
	gone(t, pid)
}

func TestTheEndOfTheInputEndsTheServer(t *testing.T) {
	t.Parallel()
	p := guard(t, `trap 'exit 8' TERM; `+ready+`cat >/dev/null; while :; do sleep 0.1; done`)
	p.pid()
	p.in.Close()
	if got := p.status(); got != 8 {
		t.Errorf("status %d", got)
	}
}

func TestAnswersAreWaitedForAfterTheEndOfTheInput(t *testing.T) {
	p := guard(t, `read -r line; cat >/dev/null; echo '{"jsonrpc":"2.0","id":1,"result":{}}'`)
	p.send(request)
	p.in.Close()
	if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(got)
	}
	if got := p.status(); got != 0 {
		t.Errorf("status %d", got)
	}
}

func TestAServerThatForksAndLeavesIsGone(t *testing.T) {
	t.Parallel()
	p := guard(t, `sh -c '`+strings.ReplaceAll(ready, "'", `'\''`)+`exec sleep 600' & read -r line; exit 9`)
	pid := p.pid()
	p.send(request)
	if got := p.line(); !strings.Contains(got, "SERVER_GONE") {
		t.Error(got)
	}
	if got := p.status(); got != 9 {
		t.Errorf("status %d", got)
	}
	gone(t, pid)
}

func TestAClientThatIsGoneEndsTheServer(t *testing.T) {
	p := guard(t, ready+`cat >/dev/null; exit 3`)
	p.pid()
	p.stdout.Close() // its stdin stays open
	if got := p.status(); got != 3 {
		t.Errorf("status %d", got)
	}
}

func TestNoServerIsLeftByAGuardThatIsKilled(t *testing.T) {
	t.Parallel()
	for range 5 {
		p := guard(t, ready+`exec sleep 600`)
		pid := p.pid()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		gone(t, pid)
	}
}

func TestAServerThatIsKilledAnswersWhatIsOpen(t *testing.T) {
	for range 5 {
		p := guard(t, ready+`exec sleep 600`)
		pid := p.pid()
		p.send(request)
		p.send("hello") // the answer to this says that the request before it was read
		p.line()
		syscall.Kill(pid, syscall.SIGKILL)
		if got := p.line(); !strings.Contains(got, "SERVER_GONE") {
			t.Error(got)
		}
		if got := p.status(); got != 137 {
			t.Errorf("status %d", got)
		}
	}
}

// A server that writes without end is held up by a client that does not read, and the guard keeps
// nothing of it.
func TestAClientThatStopsReadingHoldsTheServerUp(t *testing.T) {
	p := guard(t, `i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo '{"jsonrpc":"2.0","method":"x","params":["`+strings.Repeat("x", 900)+`"]}'; done; read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'`)
	p.send(request)
	lines := 0
	for p.line() != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		lines++
	}
	if lines != 2000 {
		t.Errorf("%d lines", lines)
	}
	p.in.Close()
	p.status()
}

// The limits of a file, and what the variables of the first gateway set besides, hold for a server
// that runs; a change of the file changes them and forgets no call.
func TestLimitsHoldForAServerThatRuns(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "guard.yaml")
	write := func(text string) {
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("limits: {calls_per_minute: 2, result_bytes: 1000, failure_ratio: 1}")
	t.Setenv("MCP_POLICY_FILE", rules)
	t.Setenv("MCP_MAX_CALLS_PER_TOOL", "7")
	t.Setenv("MCP_HITL_PORT", "1")
	p := guard(t, ready+`while read -r line; do case $line in *big*) printf '{"jsonrpc":"2.0","id":1,"result":{"x":"%02000d"}}\n' 1;; *fail*) echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}';; *) echo '{"jsonrpc":"2.0","id":1,"result":{}}';; esac; done; exit 5`)
	p.pid()
	answers := func(tool, want string) {
		t.Helper()
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`)
		if got := p.line(); !strings.Contains(got, want) || !strings.Contains(got, `"id":1,`) {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	answers("a", `"result":{}`)
	answers("big", `"code":"MESSAGE_TOO_LARGE"`)
	answers("a", `"code":"RATE_LIMITED","rule":"calls_per_minute"`)
	write("limits: {calls_per_minute: 100, failure_ratio: 1}")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "the rules are read", func() bool { return strings.Contains(p.said(), "were read anew") })
	for range 6 {
		answers("a", `"result":{}`)
	}
	answers("a", `"rule":"per_tool"`)
	for range 5 {
		answers("fail", `-32603`)
	}
	answers("b", `"code":"CIRCUIT_OPEN"`)
	p.in.Close()
	if got := p.status(); got != 5 || strings.Count(p.said(), "MCP_HITL_PORT: not used yet") != 1 {
		t.Errorf("status %d\n%s", got, p.said())
	}
	t.Setenv("MCP_MAX_CALLS_PER_TOOL", "1e9")
	if p := guard(t, "exit 0"); p.status() != 2 || !strings.Contains(p.said(), `MCP_MAX_CALLS_PER_TOOL is "1e9"`) {
		t.Errorf("it starts:\n%s", p.said())
	}
}
