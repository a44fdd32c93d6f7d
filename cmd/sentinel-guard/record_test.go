// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// answering is a server that answers each call with its own id.
const answering = `while read -r line; do id=${line#*'"id":'}; id=${id%%,*}; echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[]}}'; done`

func toolCall(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/etc/hosts"}}}`
}

func ran(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command("sentinel-guard", args...)
	raw, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}

func TestACallIsShownAndProven(t *testing.T) {
	state := t.TempDir()
	t.Setenv(stateVariable, state)
	p := start(t, "run", "--name", "files", "--", "sh", "-c", answering)
	p.send(toolCall("1"))
	p.line()
	p.in.Close()
	if got := p.status(); got != 0 {
		t.Fatalf("status %d\n%s", got, p.said())
	}
	out, status := ran(t, "calls")
	if line := strings.TrimSpace(out); status != 0 || strings.Count(line, "\n") != 0 || !strings.Contains(line, "  files ") || !strings.Contains(line, "  read_file ") || !strings.Contains(line, "  ok ") || len(line) > 80 {
		t.Errorf("status %d\n%s", status, out)
	}
	if out, status := ran(t, "events"); status != 0 || !strings.Contains(out, "session start") || !strings.Contains(out, "session end") {
		t.Errorf("status %d\n%s", status, out)
	}
	if out, status := ran(t, "verify"); status != 0 || !strings.Contains(out, "is what was written") {
		t.Errorf("status %d\n%s", status, out)
	}
	paths, _ := filepath.Glob(filepath.Join(state, "sentinel/guard/log/*.jsonl"))
	if len(paths) != 1 {
		t.Fatal(paths)
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil || bytes.Contains(raw, []byte("/etc/hosts")) {
		t.Fatalf("%v\n%s", err, raw)
	}
	raw[bytes.Index(raw, []byte("read_file"))] = 'l'
	if err := os.WriteFile(paths[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, status := ran(t, "verify"); status != 1 || !strings.Contains(out, filepath.Base(paths[0])+":2: the line was changed") {
		t.Errorf("status %d\n%s", status, out)
	}
}

func TestARefusalHasItsEventInTheRecord(t *testing.T) {
	t.Setenv(stateVariable, t.TempDir())
	rules := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(rules, []byte("rules: [{name: no-reads, action: block, tools: [read_file]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCP_POLICY_FILE", rules)
	p := start(t, "--", "sh", "-c", answering)
	p.send(toolCall("1"))
	_, rest, _ := strings.Cut(p.line(), `"event":"`)
	event, _, _ := strings.Cut(rest, `"`)
	p.in.Close()
	p.status()
	out, _ := ran(t, "events", "--severity", "medium", "--json")
	if event == "" || !strings.Contains(out, `"event_id": "`+event+`"`) || !strings.Contains(out, `"rule": "no-reads"`) {
		t.Errorf("%s\n%s", event, out)
	}
	if out, _ := ran(t, "calls"); !strings.Contains(out, "refused POLICY_BLOCKED") {
		t.Error(out)
	}
}

// rounds is how often guard, server and client are killed.
var rounds = 20

func TestTheRecordOutlivesEveryDeath(t *testing.T) {
	t.Setenv(stateVariable, t.TempDir())
	for round := range rounds {
		p := guard(t, ready+answering)
		pid := p.pid()
		go func() {
			for range 200 {
				if _, err := p.in.Write([]byte(toolCall("1") + "\n")); err != nil {
					return
				}
			}
		}()
		<-time.After(time.Duration(rand.IntN(20_000)) * time.Microsecond)
		switch round % 3 {
		case 0:
			p.cmd.Process.Kill()
		case 1:
			syscall.Kill(pid, syscall.SIGKILL)
		case 2: // the client
			p.in.Close()
			p.stdout.Close()
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.stdout.Close()
		p.cmd.Wait()
		gone(t, pid)
	}
	if out, status := ran(t, "verify"); status != 0 || !strings.Contains(out, "is what was written") {
		t.Errorf("status %d\n%s", status, out)
	}
}
