// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crashes make what a process that died left behind from the files before and
// after an append.
var crashes = map[string]func(j *Journal, before, after map[string][]byte) map[string][]byte{
	"before anything was written": func(_ *Journal, before, _ map[string][]byte) map[string][]byte { return before },
	"after the line":              crashAfterLine,
	"while the head was written": func(j *Journal, before, after map[string][]byte) map[string][]byte {
		left := crashAfterLine(j, before, after)
		left[filepath.Join(j.headDir, "."+headName+"1234567890123456789")] = after[j.headPath()][:10]
		return left
	},
	"after all": func(_ *Journal, _, after map[string][]byte) map[string][]byte { return after },
	"after the file was renamed": func(j *Journal, before, _ map[string][]byte) map[string][]byte {
		left := maps.Clone(before)
		if raw, ok := before[j.current()]; ok && len(raw) > 0 {
			left[j.rotatedPath(firstSeq(raw))] = raw
			delete(left, j.current())
		}
		return left
	},
	"with a new file that is empty": func(j *Journal, before, _ map[string][]byte) map[string][]byte {
		left := maps.Clone(before)
		if raw, ok := before[j.current()]; ok && len(raw) > 0 {
			left[j.rotatedPath(firstSeq(raw))] = raw
		}
		left[j.current()] = nil
		return left
	},
	"before the oldest file was removed": func(_ *Journal, before, after map[string][]byte) map[string][]byte {
		return withRemoved(before, after)
	},
}

// withRemoved is after, with the files that the append removed.
func withRemoved(before, after map[string][]byte) map[string][]byte {
	left := maps.Clone(after)
	for path, raw := range before {
		if _, ok := left[path]; !ok {
			left[path] = raw
		}
	}
	return left
}

func crashAfterLine(j *Journal, before, after map[string][]byte) map[string][]byte {
	left := withRemoved(before, after)
	delete(left, j.headPath())
	if head, ok := before[j.headPath()]; ok {
		left[j.headPath()] = head
	}
	return left
}

func firstSeq(raw []byte) uint64 {
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	r, err := parseLine(line)
	if err != nil {
		panic(err)
	}
	return r.Seq
}

// situations are journals before the append that dies: the very first one, one in
// the middle, one that rotates and one that removes the oldest file too.
var situations = map[string]func(t *testing.T, j *Journal){
	"first":    func(*testing.T, *Journal) {},
	"middle":   func(t *testing.T, j *Journal) { act(t, j, 2) },
	"rotating": func(t *testing.T, j *Journal) { act(t, j, 2); j.maxFile = 1 },
	"removing": func(t *testing.T, j *Journal) { j.maxFile, j.maxKept = 1, 2; act(t, j, 3) },
}

// The next append repairs without a trace what a crash at any step left, and no
// record that was reported to be on disk is lost. This may happen again and again.
func TestEveryCrashIsRepaired(t *testing.T) {
	for situation, prepare := range situations {
		for name, crash := range crashes {
			t.Run(situation+"/"+name, func(t *testing.T) {
				j := fresh(t)
				prepare(t, j)
				for round := range 3 {
					before := files(t, j)
					known := verify(t, j).LastSeq
					begin(t, j, "dies")
					put(t, j, crash(j, before, files(t, j)))
					sound(t, j)
					e := begin(t, j, "lives")
					if e.Seq() <= known || e.Seq() > known+2 {
						t.Errorf("round %d: record %d after %d", round, e.Seq(), known)
					}
					sound(t, j)
					tidy(t, j)
				}
			})
		}
	}
}

// tidy fails the test when a crash left more than the journal keeps.
func tidy(t *testing.T, j *Journal) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(j.headDir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	old, err := j.rotatedSegments()
	if err != nil || len(old) > j.maxKept {
		t.Errorf("%d rotated files, %v", len(old), err)
	}
}

// A partial line is removed, wherever it ends and whatever a power cut left in its
// place.
func TestEveryTornLineIsRepaired(t *testing.T) {
	for situation, prepare := range situations {
		t.Run(situation, func(t *testing.T) {
			j := fresh(t)
			prepare(t, j)
			j.maxFile = maxFile
			before := files(t, j)
			begin(t, j, "dies")
			whole := read(t, j.current())
			old := before[j.current()]
			line := whole[len(old):]
			var torn [][]byte
			for length := range line {
				torn = append(torn, line[:length])
			}
			torn = append(torn, bytes.Repeat([]byte{0}, len(line)), append(bytes.Repeat([]byte{0}, 100), line[100:]...), append(bytes.Clone(line[:100]), make([]byte, 400)...))
			for i, rest := range torn {
				left := maps.Clone(before)
				left[j.current()] = append(bytes.Clone(old), rest...)
				put(t, j, left)
				if r := verify(t, j); i < len(line) && (r.ProblemsTotal > 0 || r.Torn != (i > 0)) {
					t.Fatalf("%d bytes: %+v", i, r)
				}
				begin(t, j, "lives")
				sound(t, j)
				if bytes.Contains(read(t, j.current()), []byte("dies")) {
					t.Fatalf("%d bytes were kept", i)
				}
			}
		})
	}
}

// A history that is read while a writer removes a partial line sees the journal
// become shorter.
func TestAFileThatBecomesShorterIsReadToItsNewEnd(t *testing.T) {
	j := fresh(t)
	act(t, j, 2)
	f, err := os.Open(j.current())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := int64(len(read(t, j.current())))
	count := 0
	for line, err := range backwards([]*segment{{file: f, size: size + 50}}) {
		if _, perr := parseLine(line); err != nil || perr != nil {
			t.Fatalf("%q: %v, %v", line, err, perr)
		}
		count++
	}
	if count != 4 {
		t.Errorf("%d lines", count)
	}
}

func TestLinesAreReadBackwards(t *testing.T) {
	long := strings.Repeat("x", 4<<20)
	for _, test := range []struct{ content, want string }{
		{"", ""}, {"torn", ""}, {"a\n", "a"}, {"a\nb\ntorn", "b|a"}, {"\n\na\n", "a||"}, {strings.Repeat("y", maxLine-1) + "\n" + strings.Repeat("b\n", chunk/2-5), strings.Repeat("b|", chunk/2-5) + strings.Repeat("y", maxLine-1)},
		{"a\n" + strings.Repeat(strings.Repeat("z", 999)+"\n", 200), strings.Repeat(strings.Repeat("z", 999)+"|", 200) + "a"},
	} {
		path := filepath.Join(t.TempDir(), "f")
		write0600(t, path, []byte(test.content))
		var got []string
		for line, err := range backwards([]*segment{{path: path}}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%.40q: %.80q", test.content, got)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	write0600(t, path, []byte("first\n"+long+"\nlast\n"))
	total, first := 0, ""
	for line, err := range backwards([]*segment{{path: path}}) {
		if len(line) > maxLine+chunk || err != nil {
			t.Fatalf("%d bytes at once, %v", len(line), err)
		}
		total, first = total+len(line), string(line)
	}
	if total != len("first"+long+"last") || first != "first" {
		t.Errorf("%d bytes, %.20q first", total, first)
	}
}

func TestChainGoesThroughAllFilesAndTheOldestGo(t *testing.T) {
	j := fresh(t)
	j.maxFile, j.maxKept = 20<<10, 3
	for range 40 {
		finish(t, begin(t, j, strings.Repeat("reason ", 60)))
	}
	r := sound(t, j)
	if r.Files != 4 || r.LastSeq != 80 || r.FirstSeq == 1 || r.RotatedBefore != r.FirstSeq || r.Records != int(r.LastSeq-r.FirstSeq)+1 {
		t.Errorf("%+v", r)
	}
	history, err := j.History(t.Context(), 1000, nil)
	if err != nil || len(history.Actions) != history.Total || history.Truncated || history.Unreadable > 0 {
		t.Fatalf("%d of %d, %v", len(history.Actions), history.Total, err)
	}
	for i, a := range history.Actions {
		if a.Seq != uint64(79-2*i) || a.State != Done {
			t.Errorf("action %d: %+v", i, a)
		}
	}
}

// Anyone who may create many records must not be able to push out those of an earlier action.
func TestYoungFilesStayWhileThereIsRoom(t *testing.T) {
	j := fresh(t)
	j.maxFile, j.maxKept, j.keepFor = 1, 2, keepFor
	act(t, j, 10)
	if r := sound(t, j); r.Files != 10 || r.FirstSeq != 1 || r.RotatedBefore != 0 {
		t.Errorf("young ones: %+v", r)
	}
	month := j.now().Add(-keepFor)
	for _, seq := range []uint64{1, 3} {
		if err := os.Chtimes(j.rotatedPath(seq), month, month); err != nil {
			t.Fatal(err)
		}
	}
	act(t, j, 1)
	if r := sound(t, j); r.Files != 9 || r.FirstSeq != 5 || r.RotatedBefore != 5 {
		t.Errorf("old ones: %+v", r)
	}
	info, err := os.Stat(j.rotatedPath(5))
	if err != nil {
		t.Fatal(err)
	}
	j.maxTotal = 5 * info.Size()
	act(t, j, 1)
	if r := sound(t, j); r.Files > 6 || r.Files < 5 {
		t.Errorf("too many bytes: %+v", r)
	}
}

func TestSecretsInReasonsAreNotKept(t *testing.T) {
	j := fresh(t)
	finish(t, begin(t, j, "Authorization: Bearer hunter2abc --password hunter2 mysql -phunter2"))
	finish(t, begin(t, j, "tested with --password hunter2"))
	if raw := read(t, j.current()); bytes.Contains(raw, []byte("hunter2")) {
		t.Errorf("kept: %s", raw)
	}
}

// Records on disk must not be lost because of a later error.
func TestAHeadThatCannotBeWrittenTakesTheIntentBack(t *testing.T) {
	j := fresh(t)
	e := begin(t, j, "before")
	good := files(t, j)
	if err := os.Remove(j.headPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(j.headPath(), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin(t.Context(), block("x"), nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(j.headPath()); err != nil {
		t.Fatal(err)
	}
	put(t, j, good)
	s, err := j.load()
	if err != nil {
		t.Fatal(err)
	}
	j.headDir += ".gone"
	if _, err := j.appendTo(t.Context(), s, block("x").record(), nil); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s.close()
	j.headDir = strings.TrimSuffix(j.headDir, ".gone")
	if r := sound(t, j); r.LastSeq != 1 {
		t.Errorf("%+v", r)
	}
	if s, err = j.load(); err != nil {
		t.Fatal(err)
	}
	j.headDir += ".gone"
	if _, err := j.appendTo(t.Context(), s, Outcome{Result: Done}.record(e.Seq()), nil); err != nil {
		t.Errorf("an outcome was lost: %v", err)
	}
	s.close()
	j.headDir = strings.TrimSuffix(j.headDir, ".gone")
	act(t, j, 1)
	if r := sound(t, j); r.LastSeq != 4 {
		t.Errorf("%+v", r)
	}
}
