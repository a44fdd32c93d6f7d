// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
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
	tailObjectAt  = 136 // offset of the last object
	entriesAt     = 176 // offset of the first array of entries
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
	name   string
	raw    []byte // nil where this user may not read it
	size   int64  // of the file
	broken bool   // what it leads to is no object
}

// system reports whether the file is that of the system, and not of a user.
func (h header) system() bool { return strings.HasPrefix(h.name, "system") }

// whole reports whether the file is one, as long as it says, and has objects where it says. journalctl reads
// all of it to know more (--verify).
func (h header) whole() bool {
	return !h.broken && len(h.raw) == headerSize && bytes.HasPrefix(h.raw, []byte("LPKSHHRH")) && h.number(headerSizeAt)+h.number(arenaSizeAt) <= uint64(h.size)
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
			h, err := readHeader(directory, name)
			if hostfile.Missing(err) { // it was rotated or removed meanwhile
				continue
			}
			if err != nil && h.system() {
				return nil, err
			}
			list = append(list, h)
		}
	}
	return list, nil
}

func readHeader(directory, name string) (header, error) {
	h := header{name: name}
	f, err := hostfile.OpenBelow(directory, name)
	if err != nil {
		return h, err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw := make([]byte, headerSize)
	n, err := f.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	info, err := f.Stat() // after it: a file that is written to grows first
	if err != nil {
		return h, err
	}
	h.raw, h.size = raw[:n], info.Size()
	if h.whole() {
		h.broken = !isObject(f, h.number(tailObjectAt)) || !isObject(f, h.number(entriesAt))
	}
	return h, nil
}

// isObject reports whether there is the beginning of an object at an offset (struct ObjectHeader: one byte for
// the type, and after seven others the size). 0 is no offset.
func isObject(f io.ReaderAt, at uint64) bool {
	const size, types = 16, 7
	raw := make([]byte, size)
	if at == 0 {
		return true
	}
	if _, err := f.ReadAt(raw, int64(at)); err != nil {
		return false
	}
	return raw[0] >= 1 && raw[0] <= types && binary.LittleEndian.Uint64(raw[8:]) >= size
}
