// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/record"
	"sentinel/internal/testenv"
)

func statusNow(t *testing.T) guardStatus {
	t.Helper()
	status, stdout, stderr := run(t, "status", "--json")
	var s guardStatus
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || status != 0 || stderr != "" {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	return s
}

func TestStatus(t *testing.T) {
	atDoctor(t)
	recorded(t)
	s := statusNow(t)
	if s.Wrapped != 5 || len(s.Entries) != 9 || len(s.Running) != 0 || s.Calls == nil || *s.Calls != 2 || *s.RefusalsTotal != 1 || !*s.Verifies || !*s.RecordRequired {
		t.Errorf("%+v", s)
	}
	if len(s.Newest) != 1 || s.Newest[0].Rule != "no-writes" || s.Refusals[0].Code != "POLICY_BLOCKED" {
		t.Errorf("%+v %+v", s.Newest, s.Refusals)
	}
	if len(s.Unavailable) != 1 || !strings.Contains(s.Unavailable[0], "the servers of cursor") {
		t.Errorf("%q", s.Unavailable)
	}
	_, text, _ := run(t, "status")
	if !strings.HasPrefix(text, "5 of 9 servers behind the guard; 0 guards run; 1 refusal in the last day\n") || strings.Contains(text, "\x1b") || strings.Count(text, "\n") > 24 {
		t.Error(text)
	}
	for line := range strings.Lines(text) {
		if len([]rune(line)) > width+1 {
			t.Errorf("a line is wider than a terminal: %s", line)
		}
	}
}

// Somebody who has done nothing yet reads what comes next.
func TestStatusBeginsWithWhatToDo(t *testing.T) {
	atHome(t, map[string]string{".claude.json": claudeCode})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	_, text, _ := run(t, "status")
	want := `0 of 4 servers behind the guard; 0 guards run; 0 refusals in the last day
Nothing is recorded yet.

NOT BEHIND THE GUARD (3 of 4)
claude-code     memory
claude-code     db in /srv/p
claude-code     far: it is reached over the network, and not started by the cl…
To see what can be done: sentinel-guard wrap --all --dry-run
`
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if s := statusNow(t); *s.Records != 0 || s.Entries[1].Why == "" {
		t.Errorf("%+v", s)
	}
	run(t, "wrap", "--all")
	if _, text, _ := run(t, "status"); strings.Contains(text, "wrap --all") || !strings.Contains(text, "claude-code     off: it is disabled") {
		t.Error(text)
	}
}

func TestStatusSeesGuardsThatRun(t *testing.T) {
	atHome(t, nil)
	recorded(t)
	l := record.Open(record.Options{Dir: record.Dir(), Session: "BBBB", Server: "live", BestEffort: func() bool { return false }, Note: func(text string) { t.Error(text) }})
	testenv.WaitFor(t, "a guard that runs", func() bool { return len(statusNow(t).Running) == 1 })
	testenv.WaitFor(t, "its first line", func() bool {
		g := statusNow(t).Running[0]
		return g.SessionID == "BBBB" && g.ServerID == "live" && g.PID == os.Getpid()
	})
	l.Close(0)
	if running := statusNow(t).Running; len(running) != 0 {
		t.Errorf("%+v", running)
	}
}

func TestStatusSaysThatTheRecordWasChanged(t *testing.T) {
	atHome(t, nil)
	recorded(t)
	files, err := filepath.Glob(filepath.Join(record.Dir(), "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(read(t, files[0]), "no-writes", "no-reads", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if *statusNow(t).Verifies {
		t.Error("verifies")
	}
}
