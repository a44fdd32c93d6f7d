// SPDX-License-Identifier: Apache-2.0

// Package utmp parses the records of utmp, wtmp and btmp (utmp(5)). It trusts nothing in them: btmp
// holds names that clients have sent, and files may be damaged or from another machine.
package utmp

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"time"

	"sentinel/platform/unix/hostfile"
)

// Types of records.
const (
	BootTime     = 2
	LoginProcess = 6 // a login that failed, in btmp
	UserProcess  = 7
	DeadProcess  = 8
	lastType     = 9
)

// UserSize is how much of the name of an account a record holds, in bytes (UT_NAMESIZE of utmp(5)).
const UserSize = 32

// A Record is one record.
type Record struct {
	Type     int
	PID      int
	Terminal string // such as pts/0
	User     string
	Host     string     // as the program that wrote it has it: a name, an address, a kernel's release
	From     netip.Addr // of another machine; invalid without one
	At       time.Time
	// Anybody says that any user may have had it written, for a pseudo-terminal of their own: see
	// [layout.byAnybody].
	Anybody bool
}

// Service is what a failed login was tried at, as far as the terminal tells.
func (r Record) Service() string {
	if strings.HasPrefix(r.Terminal, "ssh") {
		return "ssh"
	}
	return "login"
}

// byAnybody tells what programs write that lend the group of utmp to whoever runs them (utempter of tmux and xterm,
// and screen where it lends it). They record pseudo-terminals alone, never an address beside what they were told of
// the host, always ut_id, and at the end the user again. sshd has the address, also where it shows a name; login and
// PAM write no ut_id into wtmp; sshd, login and systemd name no user at the end. So what root's programs write without
// any of these, as sshd does over a socket of Unix, passes for anybody's.
func (at layout) byAnybody(raw []byte, r Record) bool {
	if !strings.HasPrefix(r.Terminal, "pts/") {
		return false
	}
	if r.Type == DeadProcess {
		return r.User != ""
	}
	return text(raw[40:44]) != "" && bytes.Equal(raw[at.address:][:16], make([]byte, 16))
}

// A layout is where the fields of a struct utmp are, which depends on the machine.
type layout struct{ size, seconds, wide, address int }

func layoutOf(arch string) layout {
	switch arch {
	case "amd64", "386", "arm":
		return layout{384, 340, 4, 348}
	default:
		return layout{400, 344, 8, 360}
	}
}

// Tail reads the last records of a file, at most limit. more says that there are others before them.
func Tail(path, arch string, limit int) (list []Record, damaged int, more bool, err error) {
	size := layoutOf(arch).size
	raw, before, err := hostfile.Tail(path, limit*size)
	if err != nil {
		return nil, 0, false, err
	}
	if within := int(before % int64(size)); within != 0 { // the file is no whole number of records long
		raw = raw[min(len(raw), size-within):]
	}
	list, damaged = Parse(raw, arch, limit)
	return list, damaged, before > 0, nil
}

// pieceRecords are how many records are read at once from the end.
const pieceRecords = 4096

// Back has each called with the records of a file from the last to the first, within so many bytes. read is how many
// they were; more says that there are others before them.
func Back(path, arch string, limit int64, each func(Record)) (read int64, damaged int, more bool, err error) {
	f, err := hostfile.Open(path)
	if err != nil {
		return 0, 0, false, err
	}
	defer f.Close() //nolint:errcheck // only read from
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, 0, false, err
	}
	at := layoutOf(arch)
	size := int64(at.size)
	if end%size != 0 { // it is no whole number of records long
		damaged, end = 1, end-end%size
	}
	piece := make([]byte, pieceRecords*size)
	for end > 0 && read+size <= limit {
		n := min(end, (limit-read)/size*size, int64(len(piece)))
		if _, err := f.ReadAt(piece[:n], end-n); err != nil {
			return read, damaged, false, err
		}
		for raw := piece[:n]; len(raw) > 0; raw = raw[:len(raw)-at.size] {
			if r := at.record(raw[len(raw)-at.size:]); r.valid() {
				each(r)
			} else {
				damaged++
			}
		}
		end, read = end-n, read+n
	}
	return read, damaged, end > 0, nil
}

// valid reports whether a record may be one: other machines have other layouts.
func (r Record) valid() bool {
	return r.Type >= 0 && r.Type <= lastType && (r.Type == 0 || r.At.Unix() > 0)
}

// Parse returns the records of a file of such a machine, at most limit, and how many are none: of a
// type or a time that cannot be, or cut off.
func Parse(raw []byte, arch string, limit int) (list []Record, damaged int) {
	at := layoutOf(arch)
	for ; len(raw) >= at.size && len(list) < limit; raw = raw[at.size:] {
		r := at.record(raw)
		if !r.valid() {
			damaged++
			continue
		}
		list = append(list, r)
	}
	if len(raw)%at.size != 0 {
		damaged++
	}
	return list, damaged
}

func (at layout) record(raw []byte) Record {
	r := Record{
		Type: int(int16(binary.NativeEndian.Uint16(raw))), PID: int(int32(binary.NativeEndian.Uint32(raw[4:]))),
		Terminal: text(raw[8:40]), User: text(raw[44:][:UserSize]), Host: text(raw[76:332]),
	}
	r.From = address(raw[at.address:][:16], r.Host)
	seconds := int64(binary.NativeEndian.Uint32(raw[at.seconds:]))
	if at.wide == 8 {
		seconds = int64(binary.NativeEndian.Uint64(raw[at.seconds:]))
	}
	r.At = time.Unix(seconds, 0)
	r.Anybody = at.byAnybody(raw, r)
	return r
}

// address takes the address of a record from its field, or from the first word of the host, where
// mosh and others write it.
func address(field []byte, host string) (a netip.Addr) {
	switch zero := make([]byte, 16); {
	case bytes.Equal(field, zero):
		word, _, _ := strings.Cut(host, " ")
		a, _ = netip.ParseAddr(word) //nolint:errcheck // a name, which is not looked up
	case bytes.Equal(field[4:], zero[4:]):
		a, _ = netip.AddrFromSlice(field[:4])
	default:
		a, _ = netip.AddrFromSlice(field)
	}
	return a.Unmap()
}

func text(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}
