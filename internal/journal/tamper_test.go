// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// files is the content of a journal and its head, by path.
func files(t testing.TB, j *Journal) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{j.headPath(), j.current(), filepath.Join(j.dir, rotatedPrefix+"*")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			all[path] = read(t, path)
		}
	}
	return all
}

// put replaces the files of the journal with all.
func put(t testing.TB, j *Journal, all map[string][]byte) {
	t.Helper()
	for path := range files(t, j) {
		if _, kept := all[path]; !kept {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, raw := range all {
		write0600(t, path, raw)
		// A temporary file is not a leftover before it is a minute old.
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

// chained is a journal of a few records in two files.
func chained(t testing.TB) (*Journal, map[string][]byte) {
	t.Helper()
	j := fresh(t)
	act(t, j, 2)
	j.maxFile = 1
	act(t, j, 1)
	j.maxFile = maxFile
	act(t, j, 1)
	if r := sound(t, j); r.Records != 8 || r.Files != 2 {
		t.Fatalf("%+v", r)
	}
	return j, files(t, j)
}

// problems changes a file of the journal for a moment and returns what is found.
func problems(t testing.TB, j *Journal, good map[string][]byte, path string, changed []byte) Report {
	t.Helper()
	write0600(t, path, changed)
	defer write0600(t, path, good[path])
	return verify(t, j)
}

func TestEveryChangedByteIsFound(t *testing.T) {
	j, good := chained(t)
	for path, raw := range good {
		for at := range raw {
			for _, mask := range []byte{0x01, 0x20, 0x80, 0xff} {
				changed := bytes.Clone(raw)
				changed[at] ^= mask
				if r := problems(t, j, good, path, changed); r.ProblemsTotal == 0 {
					t.Fatalf("%s: byte %d with mask %#x is not noticed", filepath.Base(path), at, mask)
				}
			}
		}
	}
	sound(t, j)
}

// edits of lines, each of which must be found wherever it is made.
var edits = map[string]func(lines []string, i int) []string{
	"deleted":    func(l []string, i int) []string { return slices.Delete(l, i, i+1) },
	"twice":      func(l []string, i int) []string { return slices.Insert(l, i, l[i]) },
	"at the end": func(l []string, i int) []string { return append(l, l[i]) },
	"swapped":    func(l []string, i int) []string { j := (i + 1) % len(l); l[i], l[j] = l[j], l[i]; return l },
	"garbage":    func(l []string, i int) []string { return slices.Insert(l, i, "garbage\n") },
	"empty line": func(l []string, i int) []string { return slices.Insert(l, i, "\n") },
	"too long":   func(l []string, i int) []string { return slices.Insert(l, i, strings.Repeat("x", 3*maxLine)+"\n") },
	"cut off":    func(l []string, i int) []string { return l[:i] },
	"no end":     func(l []string, i int) []string { l[i] = strings.TrimSuffix(l[i], "\n"); return l },
	"half":       func(l []string, i int) []string { l[i] = l[i][:len(l[i])/2]; return l[:i+1] },
	"forged": func(l []string, i int) []string { // with a hash that fits
		r, err := parseLine([]byte(strings.TrimSpace(l[i])))
		if err != nil {
			panic(err)
		}
		r.Detail = "nothing happened"
		line, _, err := r.encode()
		if err != nil {
			panic(err)
		}
		l[i] = string(line) + "\n"
		return l
	},
}

func TestEveryEditedLineIsFound(t *testing.T) {
	j, good := chained(t)
	for name, edit := range edits {
		for path, raw := range good {
			if path == j.headPath() {
				continue
			}
			for i := range bytes.Count(raw, []byte("\n")) {
				changed := strings.Join(edit(slices.Collect(strings.Lines(string(raw))), i), "")
				if r := problems(t, j, good, path, []byte(changed)); r.ProblemsTotal == 0 {
					t.Errorf("line %d of %s %s is not noticed", i+1, filepath.Base(path), name)
				}
			}
		}
	}
	sound(t, j)
}

func TestEveryCutOfTheTailIsFound(t *testing.T) {
	j, good := chained(t)
	raw := good[j.current()]
	for length := range raw {
		if r := problems(t, j, good, j.current(), raw[:length]); r.ProblemsTotal == 0 {
			t.Fatalf("a cut to %d bytes is not noticed", length)
		}
	}
}

func TestReplacedAndRemovedFilesAreFound(t *testing.T) {
	j := fresh(t)
	act(t, j, 2)
	older := files(t, j)
	j.maxFile = 1
	act(t, j, 3)
	good := files(t, j)
	if len(good) != 5 {
		t.Fatalf("%d files", len(good))
	}
	without := func(path string) map[string][]byte {
		left := maps.Clone(good)
		delete(left, path)
		return left
	}
	with := func(path string, raw []byte) map[string][]byte {
		changed := maps.Clone(good)
		changed[path] = raw
		return changed
	}
	tampered := map[string]map[string][]byte{
		"older journal":             with(j.current(), older[j.current()]),
		"older head":                with(j.headPath(), older[j.headPath()]),
		"no head":                   without(j.headPath()),
		"no journal":                {j.headPath(): good[j.headPath()]},
		"older journal of its head": {j.headPath(): good[j.headPath()], j.current(): older[j.current()]},
		"a file under another name": with(j.rotatedPath(99), good[j.rotatedPath(1)]),
		"current file renamed":      with(j.rotatedPath(9), good[j.current()]),
		"something behind the end":  with(j.rotatedPath(1), append(bytes.Clone(good[j.rotatedPath(1)]), `{"seq":`...)),
	}
	for path := range good {
		tampered["without "+filepath.Base(path)] = without(path)
	}
	for name, all := range tampered {
		put(t, j, all)
		if r := verify(t, j); r.ProblemsTotal == 0 {
			t.Errorf("%s: not noticed", name)
		}
		put(t, j, good)
	}
	sound(t, j)
}

// Whatever was done to the journal, the next write works, and what was found is
// not forgotten after any number of writes.
func TestDamageDoesNotStopAWriteAndIsNeverHidden(t *testing.T) {
	j, good := chained(t)
	tampered := map[string]map[string][]byte{}
	raw := good[j.current()]
	for name, edit := range edits {
		for i := range bytes.Count(raw, []byte("\n")) {
			all := maps.Clone(good)
			all[j.current()] = []byte(strings.Join(edit(slices.Collect(strings.Lines(string(raw))), i), ""))
			tampered[fmt.Sprintf("line %d %s", i, name)] = all
		}
	}
	for path := range good {
		all := maps.Clone(good)
		delete(all, path)
		tampered["without "+filepath.Base(path)] = all
		all = maps.Clone(good)
		all[path] = []byte("garbage")
		tampered["garbage in "+filepath.Base(path)] = all
		all = maps.Clone(good)
		all[path] = bytes.Repeat([]byte("garbage\n"), 10<<10)
		tampered["much garbage in "+filepath.Base(path)] = all
	}
	for name, all := range tampered {
		put(t, j, all)
		for n := range 3 {
			e := begin(t, j, "act all the same")
			finish(t, e)
			if e.Seq() <= 6 && !strings.HasPrefix(name, "without journal-head") {
				t.Errorf("%s: record %d was written anew", name, e.Seq())
			}
			if r := verify(t, j); r.ProblemsTotal == 0 || r.LastSeq != e.Seq()+1 {
				t.Errorf("%s: forgotten after write %d: %+v", name, n, r)
			}
		}
		history, err := j.History(t.Context(), 3, nil)
		if err != nil || len(history.Actions) != 3 || history.Actions[2].State != Done {
			t.Errorf("%s: history %+v, %v", name, history, err)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	j, good := chained(t)
	lines := slices.Collect(strings.Lines(string(good[j.current()])))
	put(t, j, map[string][]byte{j.rotatedPath(1): good[j.rotatedPath(1)], j.headPath(): good[j.headPath()], j.current(): []byte(strings.Join(lines[:2], ""))})
	act(t, j, 1)
	says(t, j,
		"journal.jsonl:3: 9: records 7 to 8 are missing",
		"journal.jsonl:3: 9: found when this record was written: the journal ends with record 6, but record 8 was written: the end was cut off",
	)
	put(t, j, good)
	write0600(t, j.current(), []byte(lines[0]+lines[0]+strings.Replace(lines[1], "done", "gone", 1)+lines[2]+lines[3]))
	says(t, j,
		"journal.jsonl:2: 5: the record is out of its place: 6 should be here",
		"journal.jsonl:2: 5: the record does not follow the one before it",
		"journal.jsonl:3: 6: the record was changed: it does not match its hash",
	)
	put(t, j, map[string][]byte{j.rotatedPath(2): good[j.rotatedPath(1)], j.headPath(): good[j.headPath()], j.current(): good[j.current()]})
	says(t, j, "journal-000000000002.jsonl:1: 1: the file has the name of one that begins with record 2")
}

func says(t *testing.T, j *Journal, want ...string) {
	t.Helper()
	var said []string
	for _, p := range verify(t, j).Problems {
		said = append(said, fmt.Sprintf("%s:%d: %d: %s", p.File, p.Line, p.Seq, p.Message))
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// A damaged record is kept for inspection, and the damage is recorded once, even if the run that
// records it dies.
func TestWhatIsFoundIsKept(t *testing.T) {
	j, good := chained(t)
	raw := good[j.current()]
	damages := func() (n int) {
		for _, p := range verify(t, j).Problems {
			n += strings.Count(p.Message, "found when")
		}
		return n
	}
	write0600(t, j.current(), raw[:len(raw)-30])
	if r := verify(t, j); r.ProblemsTotal == 0 || r.Torn { // no crash does that
		t.Errorf("%+v", r)
	}
	begin(t, j, "dies before the head is written")
	write0600(t, j.headPath(), good[j.headPath()])
	act(t, j, 2)
	if after := read(t, j.current()); !bytes.HasPrefix(after, append(bytes.Clone(raw[:len(raw)-30]), '\n')) || damages() != 1 {
		t.Errorf("%d times found in\n%s", damages(), after)
	}
	put(t, j, good)
	much := append(bytes.Clone(raw), bytes.Repeat([]byte("x"), maxLine+1)...)
	write0600(t, j.current(), much)
	if r := verify(t, j); r.ProblemsTotal == 0 || r.Torn {
		t.Errorf("%+v", r)
	}
	j.maxFile = 1 // the next record is the first of a new file
	act(t, j, 1)
	if renamed := read(t, j.rotatedPath(5)); !bytes.Equal(renamed, much) || damages() != 1 || read(t, j.current())[0] != '{' {
		t.Errorf("%d times found, %d of %d bytes kept", damages(), len(renamed), len(much))
	}
}

// A name that is taken must not cost the file that has it.
func TestAFileInTheWayIsNotReplaced(t *testing.T) {
	j := fresh(t)
	act(t, j, 1)
	write0600(t, j.rotatedPath(1), []byte("in the way"))
	j.maxFile = 1
	act(t, j, 2)
	if string(read(t, j.rotatedPath(1))) != "in the way" || verify(t, j).LastSeq != 6 {
		t.Error("the file was replaced, or the journal stopped")
	}
}

func TestADamagedHeadIsFoundThoughNothingElseIs(t *testing.T) {
	j := fresh(t)
	begin(t, j, "first")
	write0600(t, j.headPath(), []byte("garbage"))
	says(t, j, ":0: 0: the head of the journal cannot be read")
}

// A head is always one that the next run can read, whatever the oldest file
// begins with.
func TestHeadIsGoodWhateverTheOldestFileHolds(t *testing.T) {
	j, good := chained(t)
	line, _, err := Record{Seq: 1 << 40, Event: EventIntent}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"garbage", string(line)} {
		for _, kept := range []int{1, maxKept} {
			put(t, j, map[string][]byte{j.rotatedPath(1): append([]byte(first+"\n"), good[j.rotatedPath(1)]...), j.current(): good[j.current()]})
			j.maxKept, j.maxFile = kept, 1
			for range 4 {
				act(t, j, 1)
				if h, err := j.readHead(); err != nil || h.First == 0 || h.First > h.Seq {
					t.Errorf("%+v, %v", h, err)
				}
			}
		}
	}
}

// The head says what the oldest record that is kept followed, when there is no
// record before it to compare with.
func TestEveryChangedByteOfAHeadIsFound(t *testing.T) {
	j := fresh(t)
	j.maxFile, j.maxKept = 1, 1
	act(t, j, 6)
	raw := read(t, j.headPath())
	if r := sound(t, j); r.FirstSeq != 9 {
		t.Fatalf("%+v", r)
	}
	for at := range raw {
		for _, mask := range []byte{0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff} {
			changed := bytes.Clone(raw)
			changed[at] ^= mask
			write0600(t, j.headPath(), changed)
			if r := verify(t, j); r.ProblemsTotal == 0 {
				t.Errorf("%s instead of %s is not noticed", changed, raw)
			}
		}
	}
}

func TestAMillionProblemsAreCountedAndAFewListed(t *testing.T) {
	j := fresh(t)
	act(t, j, 1)
	write0600(t, j.current(), bytes.Repeat([]byte("\n"), 1<<20))
	if r := verify(t, j); len(r.Problems) != maxProblems || r.ProblemsTotal < 1<<20 {
		t.Errorf("%d of %d", len(r.Problems), r.ProblemsTotal)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Verify(ctx, nil); err == nil {
		t.Error("a cancelled check went on")
	}
}
