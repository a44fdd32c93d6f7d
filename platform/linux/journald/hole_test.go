// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// hour is one of the 4th of March 2026.
func hour(h int) time.Time { return time.Date(2026, 3, 4, h, 0, 0, 0, time.UTC) }

// numbered is the head of a file of the journal of one journald, with the numbers and the hours of its first and
// its last entry.
func numbered(first, last uint64, begins, ends int) string {
	b := make([]byte, 4096)
	copy(b, "LPKSHHRH")
	copy(b[seqnumIDAt:], "one and the same")
	for at, value := range map[int]uint64{
		headerSizeAt: 256, arenaSizeAt: 3840, headSeqnumAt: first, tailSeqnumAt: last,
		headAt: uint64(hour(begins).UnixMicro()), tailAt: uint64(hour(ends).UnixMicro()),
	} {
		binary.LittleEndian.PutUint64(b[at:], value)
	}
	return string(b)
}

// ofAnother is a header with the numbers of another journald.
func ofAnother(header string) string {
	b := []byte(header)
	b[seqnumIDAt]++
	return string(b)
}

// leading is a header whose last object is at an offset.
func leading(header string, at uint64) string {
	b := []byte(header)
	binary.LittleEndian.PutUint64(b[tailObjectAt:], at)
	return string(b)
}

// archived is the name of a file that was begun at an hour, or given up then.
func archived(begins int) string {
	return fmt.Sprintf("system@%s-%016x-%016x.journal", otherID, 1, hour(begins).UnixMicro())
}

func givenUp(at int) string {
	return fmt.Sprintf("system@%016x-%016x.journal~", hour(at).UnixMicro(), 7)
}

func TestHolesOfAJournal(t *testing.T) {
	first, second, third := numbered(1, 100, 1, 4), numbered(101, 200, 4, 8), numbered(201, 300, 8, 12)
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"whole":                    {map[string]string{archived(1): first, archived(4): second, "system.journal": third}, nil},
		"one is gone":              {map[string]string{archived(1): first, "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing: a file of it was removed or lost"}},
		"the oldest was vacuumed":  {map[string]string{archived(4): second, "system.journal": third}, nil},
		"a user has its numbers":   {map[string]string{archived(1): first, "user-1000.journal": ofAnother(numbered(90, 230, 3, 9)), "system.journal": third}, nil},
		"a user has some":          {map[string]string{archived(1): first, "user-1000.journal": ofAnother(numbered(90, 130, 3, 6)), "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing: a file of it was removed or lost"}},
		"of another time":          {map[string]string{archived(1): first, "user-1000.journal": ofAnother(numbered(1, 900, 0, 1)), "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing: a file of it was removed or lost"}},
		"the clock was behind":     {map[string]string{archived(1): first, "system.journal": ofAnother(numbered(1, 300, 0, 12))}, []string{"entries from 2026-03-04T01:00:00Z until 2026-03-04T04:00:00Z may be dated wrong, and missing for it: the clock of this machine was set back, or was behind for a while"}},
		"the clock was ahead":      {map[string]string{archived(1): numbered(1, 100, 1, 6), "system.journal": numbered(101, 300, 4, 8)}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T06:00:00Z may be dated wrong, and missing for it: the clock of this machine was set back, or was behind for a while"}},
		"numbered anew":            {map[string]string{archived(1): first, "system.journal": ofAnother(third)}, nil},
		"cut":                      {map[string]string{archived(1): first, archived(4): second[:2048], "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing, or some of them: " + archived(4) + " is damaged"}},
		"empty":                    {map[string]string{archived(1): numbered(1, 200, 1, 4), archived(5): "", "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing, or some of them: " + archived(5) + " is damaged"}},
		"zeros":                    {map[string]string{archived(1): numbered(1, 200, 1, 4), givenUp(7): string(make([]byte, 4096)), "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing, or some of them: " + givenUp(7) + " is damaged"}},
		"the current one":          {map[string]string{archived(1): first, "system.journal": "x"}, []string{"entries from 2026-03-04T04:00:00Z are missing, or some of them: system.journal is damaged"}},
		"all that there is":        {map[string]string{"system.journal": "x"}, []string{"entries are missing, or some of them: system.journal is damaged"}},
		"zeros at its end":         {map[string]string{archived(1): first, archived(4): leading(second, 2048), "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing, or some of them: " + archived(4) + " is damaged"}},
		"an offset behind its end": {map[string]string{archived(1): first, archived(4): leading(second, 1<<63), "system.journal": third}, []string{"entries from 2026-03-04T04:00:00Z until 2026-03-04T08:00:00Z are missing, or some of them: " + archived(4) + " is damaged"}},
		"a user's":                 {map[string]string{archived(1): numbered(1, 200, 1, 8), "user-1000.journal": "x", "system.journal": third}, nil},
		"no file of the journal":   {map[string]string{"system@x.journal": "x", "system@-zz.journal~": "", "notes.txt": "", "system.journal": third}, nil},
		"without an entry yet":     {map[string]string{archived(1): numbered(1, 200, 1, 8), "system.journal": numbered(0, 0, 0, 0)}, nil},
	} {
		files := map[string]string{"etc/machine-id": ownID + "\n"}
		for file, content := range c.files {
			files["var/log/journal/"+ownID+"/"+file] = content
		}
		j := Journal{Root: testenv.Plant(t, files)}
		var got []string
		for _, h := range j.Holes(hour(0), hour(23)) {
			got = append(got, h.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
		for _, h := range j.Holes(hour(9), hour(23)) {
			if !h.To.IsZero() {
				t.Errorf("%s: what is missing before the time asked for: %v", name, h)
			}
		}
		for _, h := range j.Holes(hour(-3), hour(-2)) {
			if !h.From.IsZero() {
				t.Errorf("%s: what is missing after the time asked for: %v", name, h)
			}
		}
	}
}

// A journalctl that reads the newest first ends at the first entry that is older than it was asked for, and what
// lies behind is of the time asked for, where the clock was behind.
func TestWhatWasWrittenBeforeTheClockWasBehindIsRead(t *testing.T) {
	root := machine(t, "var/log/journal/"+ownID)
	write := func(name string, list ...string) {
		testenv.Journal(t, filepath.Join(root, "var/log/journal", ownID, name), strings.Join(list, ""))
	}
	monotonic := 0
	entry := func(at time.Time, message string) string {
		monotonic++
		return fmt.Sprintf("__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\nPRIORITY=3\nMESSAGE=%s\n\n", at.UnixMicro(), monotonic, otherID, ownID, message)
	}
	write(archived(9), entry(hour(9), "too old"), entry(hour(11), "disk fails"))
	write("system.journal", entry(hour(7), "at a wrong time"), entry(hour(12), "set"))
	var got []string
	_, err := Journal{Root: root, Runner: sysexec.Host{}}.Read(t.Context(), Query{Since: hour(10), Priority: -1}, func(e *Entry) bool {
		got = append(got, string(e.Message))
		return true
	})
	if want := []string{"set", "disk fails"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
