// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

// Edge is how far apart the journal and a file of syslog may put one line: files have seconds, and
// whoever forwards the line stamps it before the journal or after it.
const Edge = 2 * time.Second

// A Span is the time of which a journal tells; zero times are not known.
type Span struct {
	Begins time.Time // oldest entry of the system
	Ends   time.Time // newest entry of the system or of a user
}

// Lacks reports whether the journal has nothing of a moment because it begins later or has ended
// before: what a file of syslog has of it is told nowhere else.
func (s Span) Lacks(at time.Time) bool {
	if s == (Span{}) { // it has no entry yet
		return true
	}
	return at.Before(s.Begins.Add(-Edge)) || !s.Ends.IsZero() && at.After(s.Ends.Add(Edge))
}

const (
	maxFiles = 4096 // of the journal
	// headerSize is how much of a file of the journal holds the times of its entries: the beginning of
	// struct Header in systemd's journal-def.h.
	headerSize = 200
	headAt     = 184 // head_entry_realtime
	tailAt     = 192 // tail_entry_realtime
)

// Span reads the headers of the files. The error is fs.ErrNotExist where the machine has none, and
// fs.ErrPermission where this user may not read those of the system.
func (j Journal) Span() (s Span, err error) {
	id, err := release.New(j.Root).MachineID()
	if errors.Is(err, release.ErrNoMachineID) {
		return s, fs.ErrNotExist
	}
	if err != nil {
		return s, err
	}
	found := false
	for _, above := range []string{keptFolder, volatileFolder} {
		directory := filepath.Join(j.Root, above, hex.EncodeToString(id[:]))
		names, err := hostfile.Names(directory, maxFiles)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			return s, err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".journal") {
				continue
			}
			of := strings.HasPrefix(name, "system")
			header, err := hostfile.Head(filepath.Join(directory, name), headerSize)
			if err != nil && of {
				return s, err
			}
			found = found || of
			s.add(header, of)
		}
	}
	if !found {
		return s, fs.ErrNotExist
	}
	return s, nil
}

// add takes the times of one file, which has none until its first entry.
func (s *Span) add(header []byte, system bool) {
	if first, ok := stampAt(header, headAt); ok && system && (s.Begins.IsZero() || first.Before(s.Begins)) {
		s.Begins = first
	}
	if last, ok := stampAt(header, tailAt); ok && last.After(s.Ends) {
		s.Ends = last
	}
}

func stampAt(header []byte, at int) (time.Time, bool) {
	if len(header) < at+8 || !bytes.HasPrefix(header, []byte("LPKSHHRH")) {
		return time.Time{}, false
	}
	micros := int64(binary.LittleEndian.Uint64(header[at:]))
	return time.UnixMicro(micros), micros > 0
}
