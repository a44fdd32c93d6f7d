// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sentinel/internal/guard/record"
)

// following starts a command and returns what it prints.
func following(t *testing.T, args ...string) (lines *bufio.Scanner, reader *os.File, stop func(), status <-chan int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, "linux", args, strings.NewReader(""), w, os.Stderr)
		w.Close()
	}()
	t.Cleanup(func() { r.Close() })
	return bufio.NewScanner(r), r, stop, ended
}

func next(t *testing.T, lines *bufio.Scanner) record.Event {
	t.Helper()
	var e record.Event
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &e) != nil {
		t.Fatalf("%v: %s", lines.Err(), lines.Text())
	}
	return e
}

func TestFollowPrintsWhatComesUntilASignal(t *testing.T) {
	recorded(t)
	lines, _, stop, status := following(t, "calls", "--follow", "--json", "--last", "1", "--tool", "write")
	if e := next(t, lines); e.ToolName != "write" || e.SessionID != "AAAA" {
		t.Errorf("%+v", e)
	}
	recordSession(t, "BBBB")
	if e := next(t, lines); e.ToolName != "write" || e.SessionID != "BBBB" || e.Code != "POLICY_BLOCKED" {
		t.Errorf("%+v", e)
	}
	stop()
	if got := <-status; got != StatusInterrupted {
		t.Errorf("status %d", got)
	}
	if lines.Scan() {
		t.Errorf("one line twice, or one that was not asked for: %s", lines.Text())
	}
}

func TestFollowPrintsText(t *testing.T) {
	recorded(t)
	lines, _, stop, status := following(t, "events", "--follow", "--last", "1")
	if !lines.Scan() || !strings.Contains(lines.Text(), "session end") {
		t.Errorf("%q", lines.Text())
	}
	stop()
	<-status
}

// Nothing comes, so that writing would never tell.
func TestFollowEndsWhenNobodyReads(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	_, reader, stop, status := following(t, "events", "--follow")
	defer stop()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != 0 {
		t.Errorf("status %d", got)
	}
}
