// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/hashchain"
)

// line is one of the record.
func line(t *testing.T, seq uint64) string {
	t.Helper()
	raw, err := json.Marshal(Event{Seq: seq, Type: Call, SessionID: "AAAA", Outcome: "ok"})
	if err != nil {
		t.Fatal(err)
	}
	sealed, _ := hashchain.Seal(raw)
	return string(sealed) + "\n"
}

// put appends text to a file of the record.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestAFollowerReadsWhatComes(t *testing.T) {
	dir := t.TempDir()
	const first, second = "1-AAAA-0001.jsonl", "1-AAAA-0002.jsonl"
	put(t, dir, first, line(t, 1))
	synctest.Test(t, func(t *testing.T) {
		f, err := NewFollower(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var seen []uint64
		looks, ended := 0, make(chan error)
		go func() {
			ended <- f.Run(ctx, func(e Event) error { seen = append(seen, e.Seq); return nil }, func() error { looks++; return nil })
		}()
		pass := func(want ...uint64) {
			t.Helper()
			<-time.After(followInterval)
			synctest.Wait()
			if !slices.Equal(seen, want) {
				t.Errorf("%v was read, not %v", seen, want)
			}
		}
		pass()
		put(t, dir, first, line(t, 2))
		pass(2)
		half := line(t, 3)
		put(t, dir, first, half[:20])
		pass(2)
		put(t, dir, first, half[20:]+"{\"no\":\"line\"}\n")
		put(t, dir, second, line(t, 4)) // the next file, while the last lines of the one before are not read
		pass(2, 3, 4)
		if err := os.Remove(filepath.Join(dir, first)); err != nil {
			t.Fatal(err)
		}
		put(t, dir, second, line(t, 5))
		pass(2, 3, 4, 5)
		if _, kept := f.at[first]; kept || looks > 6 {
			t.Errorf("%v, %d looks: a file that is gone is forgotten, and nothing is looked at without pause", f.at, looks)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestAFollowerOfNoRecordWaitsForIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	f, err := NewFollower(dir)
	if err != nil {
		t.Fatal(err)
	}
	enough, calls := errors.New("enough"), 0
	idle := func() error {
		if calls > 0 {
			return enough
		}
		l := begin(t, dir, "AAAA")
		l.Close(0)
		return nil
	}
	if err := f.Run(t.Context(), func(Event) error { calls++; return nil }, idle); !errors.Is(err, enough) || calls != 3 {
		t.Errorf("%v, %d events", err, calls)
	}
}
