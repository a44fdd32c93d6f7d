// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/hashchain"
	"sentinel/internal/testenv"
)

// A tool may be called by any name, and the client may be called anything.
func TestHostileNamesAreRecordedShortAndWithoutControls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := begin(t, dir, "AAAA")
	for n, name := range []string{"safe\u202egpj.exe", "\x1b]0;title\a\nline", strings.Repeat("x", 1<<20), "\xff\xfe", "two\u2028lines"} {
		m := numbered(n+1, name)
		if err := l.Begin(m); err != nil {
			t.Fatal(err)
		}
		l.End(stage.Client, m.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{}`)})
		l.Refused(m, stage.Refusal{Code: stage.PolicyBlocks, Rule: name, Reason: name})
		l.Flagged(m, []string{name}, "AAAA-1")
	}
	l.Close(0)
	if r := verified(t, dir); r.ProblemsTotal != 0 || r.Records != 23 {
		t.Errorf("%+v", r)
	}
	events, err := Newest(t.Context(), dir, 100, func(Event) bool { return true })
	if err != nil || len(events) != 23 {
		t.Fatal(len(events), err)
	}
	for _, e := range events {
		for _, text := range append(e.Flags, e.ToolName, e.Rule, e.Reason) {
			if len(text) > 1000 || strings.ContainsAny(text, "\u202e\u2028\x1b\a\n") {
				t.Errorf("%d: %.60q", e.Seq, text)
			}
		}
	}
}

// Names of files, and lines that somebody else has chained, are shown as harmlessly as those of guards.
func TestWhatSomebodyElseWroteIsShownWithoutControls(t *testing.T) {
	dir, _ := written(t)
	const hostile = "a\u202e\u009b2J\x1b]0;x\ab\u2028"
	line, _ := hashchain.Seal([]byte(`{"seq":1,"type":"mcp_call","timestamp":"2026-01-01T00:00:00Z","session_id":"\u202e\u001b[2J","server_id":"` + "s\u202e" + `","tool_name":"\u009b\u2028","flags":["\u202e"],"prev":""}`))
	for _, name := range []string{hostile + ".jsonl", asideName + hostile} {
		if err := os.WriteFile(filepath.Join(dir, name), append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bad := func(text string) bool { return strings.ContainsAny(text, "\u202e\u009b\x1b\a\u2028") }
	r := verified(t, dir)
	for _, p := range r.Problems {
		if bad(p.File + p.Message) {
			t.Errorf("%+v", p)
		}
	}
	events, err := Newest(t.Context(), dir, 100, func(e Event) bool { return len(e.Flags) > 0 })
	if err != nil || len(events) != 1 || r.ProblemsTotal < 2 {
		t.Fatal(events, err, r)
	}
	if e := events[0]; bad(e.SessionID + e.ServerID + e.ToolName + e.Flags[0]) {
		t.Errorf("%+v", e)
	}
}

func TestAStateFolderOfAnotherUserIsNotUsed(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "only root can give a folder to another user")
	dir := filepath.Join(t.TempDir(), "log")

	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, testenv.Nobody, testenv.Nobody)); err != nil {
		t.Fatal(err)
	}
	l := begin(t, dir, "AAAA")
	if err := called(l, "{}"); err == nil {
		t.Error("a call passed that is recorded where another user can change it")
	}
	l.Close(0)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v %v was written", err, left)
	}
}
