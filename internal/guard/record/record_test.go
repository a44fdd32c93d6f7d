// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

func begin(t testing.TB, dir, session string) *Log {
	t.Helper()
	return Open(Options{
		Dir: dir, Session: session, Server: "files", Command: []string{"server", "--token", "hunter2"},
		BestEffort: func() bool { return false }, Note: func(text string) { t.Log(text) },
	})
}

func message(line string) *stage.Message {
	m := jsonrpc.Parse([]byte(line)).Messages[0]
	return &stage.Message{Message: &m, Call: &stage.Call{ID: m.ID, Method: m.Method, Number: 1, Name: "read"}}
}

func called(l *Log, arguments string) error {
	m := message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":` + arguments + `}}`)
	err := l.Begin(m)
	if err == nil {
		l.End(stage.Client, m.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{"content":[]}`), Took: time.Millisecond})
	}
	return err
}

func verified(t testing.TB, dir string) Report {
	t.Helper()
	r, err := Verify(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written returns a folder with the record of two sessions that have ended, and its files.
func written(t testing.TB) (dir string, paths []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "guard", "log")
	for _, session := range []string{"AAAA", "BBBB"} {
		l := begin(t, dir, session)
		for range 3 {
			if err := called(l, `{"path":"/x"}`); err != nil {
				t.Fatal(err)
			}
		}
		l.Close(0)
	}
	paths, _ = filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if r := verified(t, dir); len(paths) != 2 || r.ProblemsTotal != 0 || r.Records != 18 || r.Unsigned != 0 {
		t.Fatalf("%v %+v", paths, r)
	}
	return dir, paths
}

func TestWhatIsDoneToTheRecordIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(lines [][]byte) [][]byte
		line int
		says string
	}{
		"change":      {func(l [][]byte) [][]byte { l[2] = bytes.Replace(l[2], []byte("read"), []byte("rEad"), 1); return l }, 3, "the line was changed"},
		"remove":      {func(l [][]byte) [][]byte { return append(l[:3], l[4:]...) }, 4, "1 lines are lost before this one"},
		"add":         {func(l [][]byte) [][]byte { return append(l[:3:3], append([][]byte{l[1]}, l[3:]...)...) }, 4, "was added or moved"},
		"reorder":     {func(l [][]byte) [][]byte { l[3], l[4] = l[4], l[3]; return l }, 4, "1 lines are lost before this one"},
		"cut":         {func(l [][]byte) [][]byte { return l[:5] }, 5, "3 lines are lost after this one"},
		"no record":   {func(l [][]byte) [][]byte { l[4] = []byte("{}\n"); return l }, 5, "no line of the record"},
		"end goes on": {func(l [][]byte) [][]byte { return append(l, l[3]) }, 10, "was added or moved"},
	} {
		dir, paths := written(t)
		raw, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Join(c.harm(bytes.SplitAfter(bytes.TrimSuffix(raw, nil), []byte("\n"))[:9]), nil)
		if err := os.WriteFile(paths[0], changed, 0o600); err != nil {
			t.Fatal(err)
		}
		r := verified(t, dir)
		if r.ProblemsTotal == 0 || r.Problems[0].Line != c.line || !strings.Contains(r.Problems[0].Message, c.says) || r.Problems[0].File != filepath.Base(paths[0]) {
			t.Errorf("%s: %+v", name, r.Problems)
		}
	}
}

func TestWhatIsDoneToFilesAndHeadIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(dir string, paths []string) error
		says string
	}{
		"lost":  {func(_ string, p []string) error { return os.Remove(p[1]) }, "the file is lost; it had 8 lines"},
		"added": {func(dir string, p []string) error { return os.Link(p[1], filepath.Join(dir, "z.jsonl")) }, "somebody added it"},
		"swapped": {func(dir string, p []string) error {
			return errors.Join(os.Rename(p[0], dir+"/x"), os.Rename(p[1], p[0]), os.Rename(dir+"/x", p[1]))
		}, "not those that were signed"},
		"head gone": {func(dir string, _ []string) error { return os.Remove(filepath.Join(dir, headName)) }, "does not list the file"},
		"head forged": {func(dir string, _ []string) error {
			return os.WriteFile(filepath.Join(dir, headName), []byte(headOrigin+"\n9\n\n— x y\n"), 0o600)
		}, "does not verify"},
	} {
		dir, paths := written(t)
		if err := c.harm(dir, paths); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.ProblemsTotal == 0 || !strings.Contains(r.Problems[0].Message, c.says) {
			t.Errorf("%s: %+v", name, r.Problems)
		}
	}
}

func TestAHeadThatWasRolledBackIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := begin(t, dir, "AAAA")
	if err := called(l, "{}"); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(dir, headName))
	if err != nil {
		t.Fatal(err)
	}
	l.Close(0)
	if err := os.WriteFile(filepath.Join(dir, headName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, dir); r.ProblemsTotal != 1 || !strings.Contains(r.Problems[0].Message, "an older one was put in its place") {
		t.Errorf("%+v", r.Problems)
	}
}

// A line may be cut anywhere when the power goes; those before it stay.
func TestATornLineIsRecognizedAtEveryByte(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := begin(t, dir, "AAAA")
	for range 2 {
		if err := called(l, "{}"); err != nil {
			t.Fatal(err)
		}
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1
	for at := last; at < len(raw); at++ {
		if err := os.WriteFile(paths[0], raw[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.ProblemsTotal != 0 || r.Records != 4 || (len(r.Torn) == 1) != (at > last) {
			t.Fatalf("at byte %d: %+v", at-last, r)
		}
	}
}

func TestManyGuardsRecordAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var all sync.WaitGroup
	for g := range 10 {
		all.Go(func() {
			l := begin(t, dir, fmt.Sprintf("G%d", g))
			for range 1000 {
				if err := called(l, `{"a":1}`); err != nil {
					t.Error(err)
					return
				}
			}
			l.Close(0)
		})
	}
	all.Wait()
	r := verified(t, dir)
	if r.ProblemsTotal != 0 || r.Files != 10 || r.Records < 20_020 {
		t.Errorf("%+v", r)
	}
}

func TestARecordGoesOnInTheNextFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := begin(t, dir, "AAAA")
	for range 3 {
		if err := called(l, "{}"); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		l.size = maxFile
		l.mu.Unlock()
	}
	l.Close(0)
	if r := verified(t, dir); r.ProblemsTotal != 0 || r.Files != 4 || r.Records != 9 {
		t.Errorf("%+v", r)
	}
}

// A guard may be killed between its mark in the head and its file.
func TestFilesThatWereNeverMadeAreNoProblem(t *testing.T) {
	dir, _ := written(t)
	k, err := loadKey(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := publish(dir, k, mark{file: "00000000T000000.000Z-X-0001.jsonl"}, mark{file: "zz-X-0001.jsonl"}); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, dir); r.ProblemsTotal != 0 || r.Files != 2 {
		t.Errorf("%+v", r)
	}
}

func TestWithoutLocksTheRecordGoesOn(t *testing.T) {
	flock = func(int, int) error { return syscall.ENOLCK }
	defer func() { flock = syscall.Flock }()
	written(t)
}

func TestNoSecretIsRecorded(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
	dir := filepath.Join(t.TempDir(), "log")
	l := begin(t, dir, "AAAA")
	m := message(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + token + `","arguments":{"` + token + `":"hunter2","deep":{"q":"` + token + `"}}}}`)
	m.Call.Name = token
	if err := l.Begin(m); err != nil {
		t.Fatal(err)
	}
	l.Refused(m, stage.Refusal{Code: stage.PolicyBlocks, Rule: token, Reason: "No " + token + ".", Hints: &stage.Hints{ReadOnly: true}})
	l.Flagged(m, []string{token}, "AAAA-1")
	l.Violated(stage.Server, relay.Noise, []byte(token))
	l.End(stage.Client, m.Call, relay.End{Outcome: relay.OK, Answer: []byte(`{"x":"` + token + `"}`)})
	l.Close(0)
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	raw, err := os.ReadFile(paths[0])
	if err != nil || bytes.Contains(raw, []byte(token)) || bytes.Contains(raw, []byte("hunter2")) || !bytes.Contains(raw, []byte(`"deep":{"q":"string"}`)) || !bytes.Contains(raw, []byte(`"hints":{"readOnlyHint":true,`)) {
		t.Errorf("%v\n%s", err, raw)
	}
}

func TestACallThatCannotBeRecordedIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	lenient, told := false, 0
	l := Open(Options{Dir: dir, Session: "A", BestEffort: func() bool { return lenient }, Note: func(string) { told++ }})
	if err := called(l, "{}"); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Error(err)
	}
	if err := l.Begin(message(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)); err != nil {
		t.Error(err)
	}
	lenient = true
	if err := called(l, "{}"); err != nil || told != 1 {
		t.Error(err, told)
	}
	lenient = false
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.retryAt = time.Time{}
	l.mu.Unlock()
	if err := called(l, "{}"); err != nil {
		t.Error(err)
	}
	l.Close(0)
}

func BenchmarkCall(b *testing.B) {
	l := begin(b, filepath.Join(b.TempDir(), "log"), "AAAA")
	for b.Loop() {
		called(l, `{"path":"/etc/hosts"}`)
	}
	l.Close(0)
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := fileChecker{checker: &checker{report: &Report{}, sessions: map[string]link{}}, name: "f"}
		if err := c.lines(bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		c.end()
		if len(raw) > 0 && c.report.Records == 0 && len(c.report.Torn) == 0 && c.report.ProblemsTotal == 0 {
			t.Error("nothing was found")
		}
	})
}
