// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

// Where struct Header of systemd's journal-def.h has what is needed. Times are those of the first and of
// the last entry, in microseconds since 1970; journald numbers all entries that it writes, to whichever file.
const (
	seqnumIDAt    = 72
	headerSizeAt  = 88
	arenaSizeAt   = 96
	tailSeqnumAt  = 160
	headSeqnumAt  = 168
	headAt        = 184 // head_entry_realtime
	tailAt        = 192 // tail_entry_realtime
	headerSize    = 200 // bytes of it that are read
	maxFiles      = 4096
	unclean       = ".journal~" // of a file that was not closed, or is damaged
	systemJournal = "system.journal"
)

// A header is the beginning of a file of the journal.
type header struct {
	name string
	raw  []byte
	size int64 // of the file; 0 is not known
}

// system reports whether the file is that of the system, and not of a user.
func (h header) system() bool { return strings.HasPrefix(h.name, "system") }

// whole reports whether the file is one, and as long as it says.
func (h header) whole() bool {
	return len(h.raw) == headerSize && bytes.HasPrefix(h.raw, []byte("LPKSHHRH")) && h.number(headerSizeAt)+h.number(arenaSizeAt) <= uint64(h.size)
}

func (h header) number(at int) uint64 { return binary.LittleEndian.Uint64(h.raw[at:]) }

// stamp reads a time, which a file has none of until its first entry.
func (h header) stamp(at int) (time.Time, bool) {
	if len(h.raw) < at+8 || !bytes.HasPrefix(h.raw, []byte("LPKSHHRH")) {
		return time.Time{}, false
	}
	micros := int64(h.number(at))
	return time.UnixMicro(micros), micros > 0
}

// named reads from the name of a file when it was begun or, of an unclean one, when it was given up
// (journal_file_rotate and journal_file_dispose of systemd). That of the current one is the zero time.
func (h header) named() (at time.Time, ok bool) {
	if h.name == systemJournal {
		return at, true
	}
	name, given := strings.CutSuffix(h.name, unclean)
	_, id, archived := strings.Cut(strings.TrimSuffix(name, ".journal"), "@")
	parts := strings.Split(id, "-")
	if !archived || len(parts) != map[bool]int{true: 2, false: 3}[given] {
		return at, false
	}
	text := parts[len(parts)-1]
	if given {
		text = parts[0]
	}
	micros, err := strconv.ParseInt(text, 16, 64)
	return time.UnixMicro(micros), err == nil && micros > 0
}

// headers reads the beginnings of all files, those of users as far as this one may. The error is
// fs.ErrNotExist where this machine is not known, and that of the first file of the system that cannot be
// read.
func (j Journal) headers() (list []header, err error) {
	id, err := release.New(j.Root).MachineID()
	if errors.Is(err, release.ErrNoMachineID) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	for _, above := range []string{keptFolder, volatileFolder} {
		directory := filepath.Join(j.Root, above, hex.EncodeToString(id[:]))
		names, err := hostfile.Names(directory, maxFiles)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, ".journal") && !strings.HasSuffix(name, unclean) {
				continue
			}
			h := header{name: name}
			h.raw, err = hostfile.Head(filepath.Join(directory, name), headerSize)
			if err != nil && h.system() {
				return nil, err
			}
			if meta, err := hostfile.Stat(filepath.Join(directory, name)); err == nil {
				h.size = meta.Size
			}
			list = append(list, h)
		}
	}
	return list, nil
}
