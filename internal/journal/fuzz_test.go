// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"testing"

	"sentinel/internal/hashchain"
	"time"
)

func samples(f *testing.F) (line, journal, head []byte) {
	f.Helper()
	j := fresh(f)
	act(f, j, 2)
	journal = read(f, j.current())
	line, _, _ = bytes.Cut(journal, []byte("\n"))
	return line, journal, read(f, j.headPath())
}

// A line that is accepted is one that encode could have hashed: its hash covers
// every byte before it.
func FuzzParseLine(f *testing.F) {
	line, _, _ := samples(f)
	f.Add(line)
	f.Add(bytes.Replace(line, []byte("203"), []byte("198"), 1))
	f.Add([]byte(`{"seq":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseLine(line)
		if err != nil {
			return
		}
		_, intact, _ := hashchain.Check(line)
		if !intact || r.Seq == 0 || len(line) >= maxLine {
			t.Errorf("%q is %+v", line, r)
		}
	})
}

func FuzzParseHead(f *testing.F) {
	_, _, head := samples(f)
	f.Add(head)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := parseHead(raw)
		if err != nil {
			return
		}
		if again, err := h.encode(); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("%q is %+v", raw, h)
		}
	})
}

// Whatever is in the files, Verify ends, a write works, and a journal that was
// found wrong is found wrong after it.
func FuzzJournal(f *testing.F) {
	_, journal, head := samples(f)
	f.Add(journal, head)
	f.Add(journal[:len(journal)-10], head)
	f.Add(journal, []byte(nil))
	f.Add([]byte("\x00\n\n{"), head)
	f.Fuzz(func(t *testing.T, raw, head []byte) {
		j := fresh(t)
		j.now = func() time.Time { return time.Unix(1_770_000_000, 0) }
		act(t, j, 1)
		write0600(t, j.current(), raw)
		write0600(t, j.headPath(), head)
		found := verify(t, j)
		if h, err := j.History(t.Context(), MaxHistory, nil); err != nil || len(h.Actions) > h.Total {
			t.Errorf("%+v, %v", h, err)
		}
		if found.LastSeq > maxSeq-10 {
			return
		}
		act(t, j, 1)
		after := verify(t, j)
		if found.ProblemsTotal > 0 && after.ProblemsTotal == 0 && !bytes.ContainsRune(raw, 0) {
			t.Errorf("forgotten: %+v", found.Problems)
		}
		if found.ProblemsTotal == 0 && after.ProblemsTotal > 0 {
			t.Errorf("made up: %+v", after.Problems)
		}
		if after.LastSeq < found.LastSeq+2 {
			t.Errorf("record %d after %d", after.LastSeq, found.LastSeq)
		}
	})
}
