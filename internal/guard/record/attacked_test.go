// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"sentinel/internal/hashchain"
)

// What somebody puts beside the record is named, keeps nobody from reading the rest, and costs neither
// time nor memory by its size.
func TestFilesThatNoGuardHasWrittenHideNothing(t *testing.T) {
	sparse := func(path string, size int64) error {
		return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size))
	}
	for name, c := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"a link":          {func(p string) error { return os.Symlink("/dev/zero", p) }, "it is no file of the record"},
		"a pipe":          {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "it is no file of the record: it is not a regular file"},
		"a folder":        {func(p string) error { return os.Mkdir(p, 0o700) }, "it is no file of the record"},
		"for all":         {func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o666)) }, "can be written by others"},
		"ten GB":          {func(p string) error { return sparse(p, 10<<30) }, "it is larger than any file of the record"},
		"a line of 30 MB": {func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("x"), 30<<20), 0o600) }, "it is larger than any file of the record"},
		"nothing":         {func(p string) error { return os.WriteFile(p, nil, 0o600) }, "the head does not list the file: somebody added it"},
	} {
		for _, file := range []string{"0.jsonl", "z.jsonl"} {
			dir, _ := written(t)
			if err := c.put(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			r := verified(t, dir)
			found := ""
			for _, p := range r.Problems {
				if p.File != file {
					t.Errorf("%s: %+v", name, p)
				}
				found += p.Message + "\n"
			}
			if !strings.Contains(found, c.says) || r.Records < 18 || r.Records > 19 {
				t.Errorf("%s, %s: %d records\n%s", name, file, r.Records, found)
			}
			readable(t, name, dir)
		}
	}
}

// readable checks that all that reads a record of two sessions still does.
func readable(t *testing.T, what, dir string) {
	t.Helper()
	events, err := Newest(t.Context(), dir, 100, func(Event) bool { return true })
	if err != nil || len(events) != 18 {
		t.Errorf("%s: %d events, %v", what, len(events), err)
	}
	if s, err := SumSince(t.Context(), dir, time.Time{}); err != nil || s.Calls != 6 {
		t.Errorf("%s: %d calls, %v", what, s.Calls, err)
	}
	if running, err := Running(t.Context(), dir); err != nil || len(running) != 0 {
		t.Errorf("%s: %v running, %v", what, running, err)
	}
	if p, err := Prove(t.Context(), dir, "BBBB:3"); err != nil || p.Index != 2 {
		t.Errorf("%s: %+v, %v", what, p, err)
	}
	f, err := NewFollower(dir)
	if err == nil {
		f.at = map[string]int64{}
		seen := 0
		if err = f.look(t.Context(), func(Event) error { seen++; return nil }); seen != 18 {
			t.Errorf("%s: followed %d", what, seen)
		}
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestAFolderFullOfNamesIsSaid(t *testing.T) {
	defer func(most int) { maxEntries = most }(maxEntries)
	dir, _ := written(t)
	maxEntries = 4 // of head, key, lock and two files
	if r := verified(t, dir); r.ProblemsTotal == 0 || !strings.Contains(r.Problems[0].Message, "somebody added them") || r.Records != 18 {
		t.Errorf("%+v", r)
	}
	if _, err := Newest(t.Context(), dir, 1, func(Event) bool { return true }); !errors.Is(err, errCrowded) {
		t.Error(err)
	}
}

// Who knows how lines are chained can change one so that it matches its hash. The next says that one of
// the two was changed; where all that follow are changed as well, the signature does.
func TestALineThatIsSealedAnewIsFound(t *testing.T) {
	for _, all := range []bool{false, true} {
		dir, paths := written(t)
		raw, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
		prev := ""
		for i := 2; i < len(lines); i++ {
			line := bytes.TrimSuffix(lines[i], []byte("\n"))
			e, _, _, ok := parseEvent(line)
			if !ok {
				t.Fatalf("%s", line)
			}
			body := bytes.Replace(line[:bytes.LastIndex(line, []byte(","))], []byte("read"), []byte("rEad"), 1)
			if prev != "" {
				body = bytes.Replace(body, []byte(e.Prev), []byte(prev), 1)
			}
			sealed, hash := hashchain.Seal(append(body, '}'))
			lines[i], prev = append(sealed, '\n'), hash
			if !all {
				break
			}
		}
		if err := os.WriteFile(paths[0], bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		want := Problem{filepath.Base(paths[0]), 4, "the line does not follow the one before it: one of the two was changed"}
		if all {
			want = Problem{filepath.Base(paths[0]), 8, "the lines up to this one are not those that were signed"}
		}
		if r := verified(t, dir); r.ProblemsTotal != 1 || r.Problems[0] != want {
			t.Errorf("all %v: %+v", all, r.Problems)
		}
	}
}

func TestAHeadThatIsNoFileIsAProblem(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"too long": func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 10<<30)) },
	} {
		dir, _ := written(t)
		path := filepath.Join(dir, headName)
		if err := errors.Join(os.Remove(path), put(path)); err != nil {
			t.Fatal(err)
		}
		if r := verified(t, dir); r.ProblemsTotal == 0 || r.Problems[0].Message != errHead.Error() || r.Records != 18 {
			t.Errorf("%s: %+v", name, r)
		}
		l := begin(t, dir, "CCCC")
		if err := called(l, "{}"); err != nil {
			t.Errorf("%s: nothing is recorded any more: %v", name, err)
		}
		l.Close(0)
		if r := verified(t, dir); r.ProblemsTotal == 0 || !strings.HasPrefix(r.Problems[0].File, asideName) {
			t.Errorf("%s, after the next: %+v", name, r.Problems)
		}
	}
}

// The guard removes what is old, and neither a date nor a length that somebody gives a file makes it
// remove another one, or one before its time.
func TestWhatIsOldIsRemovedAndNothingElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := begin(t, dir, "AAAA")
	if err := called(l, "{}"); err != nil {
		t.Fatal(err)
	}
	l.Close(0)
	k, err := loadKey(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-keepFor - time.Hour)
	had := func(name string, closed bool, modified time.Time, size int64) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size), os.Chtimes(path, modified, modified)); err != nil {
			t.Fatal(err)
		}
		if _, err := publish(dir, k, mark{file: name, closed: closed}); err != nil {
			t.Fatal(err)
		}
	}
	named := func(at time.Time, session string) string {
		return at.UTC().Format(fileTime) + "-" + session + "-0001.jsonl"
	}
	old, killed, long1, touched, large := named(long, "OLD"), named(long, "KILLED"), named(long, "LONG"), named(time.Now(), "TOUCHED"), named(time.Now(), "LARGE")
	held, err := os.Create(filepath.Join(dir, named(long, "HELD")))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	had(long1, true, time.Now(), 0) // a session that lasted for long
	had(touched, true, long, 0)
	had(large, true, time.Now(), 10<<30)
	had(filepath.Base(held.Name()), false, long, 0)
	had(killed, false, long, 0)
	had(old, true, long, 0)
	if _, err := publish(dir, k, mark{file: named(long, "NEVER")}); err != nil {
		t.Fatal(err)
	}
	h, err := readHead(dir, k)
	if err != nil {
		t.Fatal(err)
	}
	listed := ""
	for _, m := range h.marks {
		listed += m.file + "\n"
	}
	for name, want := range map[string]bool{old: false, killed: false, named(long, "NEVER"): false, long1: true, touched: true, large: true, filepath.Base(held.Name()): true, "AAAA": true} {
		if strings.Contains(listed, name) != want {
			t.Errorf("%s is listed: %v\n%s", name, !want, listed)
		}
	}
	for name, want := range map[string]bool{old: false, killed: false, long1: true, touched: true, large: true} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However many sessions there are, the head stays within its bound.
func TestTheHeadListsABoundedNumberOfFiles(t *testing.T) {
	dir, _ := written(t)
	k, err := loadKey(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	var marks []mark
	for n := range maxListed {
		name := fmt.Sprintf("%s-S%d-0001.jsonl", time.Now().UTC().Format(fileTime), n)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		marks = append(marks, mark{file: name, closed: true})
	}
	if _, err := publish(dir, k, marks...); err != nil {
		t.Fatal(err)
	}
	h, err := readHead(dir, k)
	if err != nil || len(h.marks) != maxListed || len(h.text()) > maxHead<<10/2 {
		t.Errorf("%d files, %d bytes, %v", len(h.marks), len(h.text()), err)
	}
	if r := verified(t, dir); r.ProblemsTotal != 0 || r.Files != maxListed {
		t.Errorf("%+v", r)
	}
}

// While guards write and sign, whoever reads sees whole lines and no problem.
func TestTheRecordIsReadWhileItIsWritten(t *testing.T) {
	dir, _ := written(t)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := range 20 {
			l := begin(t, dir, fmt.Sprintf("S%d", n))
			for range 50 {
				if err := called(l, `{"a":1}`); err != nil {
					t.Error(err)
				}
			}
			l.sign(false)
			l.Close(0)
		}
	}()
	for reading := true; reading; {
		select {
		case <-written:
			reading = false
		default:
		}
		if r := verified(t, dir); r.ProblemsTotal != 0 || r.Records < 18 {
			t.Errorf("%+v", r)
		}
		if s, err := SumSince(t.Context(), dir, time.Time{}); err != nil || s.Calls < 6 {
			t.Error(s.Calls, err)
		}
		if events, err := Newest(t.Context(), dir, 5, func(e Event) bool { return e.Type == Call }); err != nil || len(events) != 5 {
			t.Error(len(events), err)
		}
	}
	if r := verified(t, dir); r.ProblemsTotal != 0 || r.Files != 22 {
		t.Errorf("%+v", r)
	}
}

// A proof is somebody else's text: whatever stands in it, it holds or does not.
func TestAForgedProofDoesNotHold(t *testing.T) {
	dir, _ := written(t)
	for name, forge := range map[string]func(p *Proof){
		"no tree":          func(p *Proof) { p.TreeSize = 0 },
		"a negative tree":  func(p *Proof) { p.TreeSize = -1 },
		"a huge tree":      func(p *Proof) { p.TreeSize = 1<<63 - 1 },
		"a negative index": func(p *Proof) { p.Index = -1 },
		"a huge index":     func(p *Proof) { p.Index = 1<<63 - 1 },
		"another index":    func(p *Proof) { p.Index++ },
		"a long path":      func(p *Proof) { p.Path = append(p.Path, make(tlog.RecordProof, 100_000)...) },
		"no path":          func(p *Proof) { p.Path = nil },
		"another root":     func(p *Proof) { p.Root[0]++ },
		"its own tree":     func(p *Proof) { p.TreeSize, p.Index, p.Path, p.Root = 1, 0, nil, tlog.RecordHash([]byte(p.Line)) },
		"another line":     func(p *Proof) { p.Line = strings.Replace(p.Line, "read", "rEad", 1) },
		"no line":          func(p *Proof) { p.Line = "" },
		"another file":     func(p *Proof) { p.File = "../" + p.File },
		"no head":          func(p *Proof) { p.Head = "" },
		"a longer head":    func(p *Proof) { p.Head = strings.Replace(p.Head, "\n\n", "\nx closed 1 "+p.Root.String()+"\n\n", 1) },
		"a head twice":     func(p *Proof) { p.Head += p.Head },
	} {
		p, err := Prove(t.Context(), dir, "AAAA:3")
		if err != nil {
			t.Fatal(err)
		}
		forge(&p)
		if e, err := p.Check(""); !errors.Is(err, ErrNotTheRecord) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// Who may write to the folder can make a file look older than it is, and hides nothing by that.
func TestAFileThatIsMadeToLookOldIsRead(t *testing.T) {
	dir, paths := written(t)
	before := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(paths[1], before, before); err != nil {
		t.Fatal(err)
	}
	events, err := Newest(t.Context(), dir, 1, func(e Event) bool { return e.Type == Call })
	if err != nil || len(events) != 1 || events[0].SessionID != "BBBB" {
		t.Errorf("%+v, %v", events, err)
	}
	if s, err := SumSince(t.Context(), dir, time.Now().Add(-time.Hour)); err != nil || len(s.Sessions) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}
