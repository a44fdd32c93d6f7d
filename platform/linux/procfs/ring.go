// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// registered is the FD of a file that has no descriptor and is used by way of an io_uring (io_uring_register(2)).
const registered = -1

// ErrRegistered says that a file has no descriptor, by which more of it could be told.
var ErrRegistered = errors.New("it has no descriptor, and is registered with an io_uring")

// Registered reports whether the file has no descriptor of its own, and is registered with an io_uring. Then FD is -1,
// Link is whole, and the kernel tells no more of it. It may be open beside that.
func (f OpenFile) Registered() bool { return f.FD == registered }

// ringLink is the link of an io_uring. No file that anybody made has one without a slash.
const ringLink = "anon_inode:[io_uring]"

const (
	// maxRing caps what is read about one ring, in bytes: some 130,000 sockets.
	maxRing = 4 << 20
	// ringTries are how often a ring is asked that is in use, with ringPause between: the kernel tells nothing then.
	ringTries = 8
	ringPause = time.Millisecond
)

// tellsRings says that the kernel tells the links of what is registered. Before Linux 6.14 it tells the last part of
// the name alone, and everybody may call a file like a socket.
func (r *FileReader) tellsRings() bool {
	if !r.asksRings {
		release, err := r.fs.KernelRelease()
		r.asksRings, r.rings = true, err == nil && atLeast(release, 6, 14)
	}
	return r.rings
}

// atLeast compares the first two numbers of a kernel's release.
func atLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	second := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, err := strconv.Atoi(first)
	b, unread := strconv.Atoi(second)
	return err == nil && unread == nil && cmp.Or(cmp.Compare(a, major), cmp.Compare(b, minor)) >= 0
}

// registeredWith calls visit with the link of each file that is registered with a ring, the descriptor n of a thread,
// until it returns false.
func (r *FileReader) registeredWith(c candidate, tid, n int, visit func(link []byte) (more bool)) (more bool, err error) {
	if !r.tellsRings() {
		return true, nil
	}
	// Anybody can have a ring take long, and a process be shown as root's: see unaskedOf.
	c = r.whose(c)
	defer r.charge(c)()
	if err := r.afford(c); err != nil {
		return true, err
	}
	raw, err := r.aboutRing(c, tid, n)
	if err != nil {
		return true, err
	}
	links, _ := ringFiles(raw)
	for _, link := range links {
		if err := r.afford(c); err != nil {
			return true, err
		}
		r.read[c.account()]++
		if !visit(link) {
			return false, nil
		}
	}
	if len(raw) == maxRing {
		return true, ErrManyFiles
	}
	return true, nil
}

// whose is c as what belongs to its real user, where that was not asked for yet.
func (r *FileReader) whose(c candidate) candidate {
	if SystemAccount(c.uid) {
		c = r.owned(c)
		c.uid = r.fs.users.of(c.uid)
	}
	return c
}

// ringInUse says that a process keeps a ring in use. That is the doing of its account, like a bound that this has
// reached, and makes nothing of it impossible to end.
type ringInUse struct{}

func (ringInUse) Error() string {
	return "it keeps an io_uring in use, and the kernel does not tell then what is registered with that"
}

func (ringInUse) Is(target error) bool { return target == ErrManyFiles }

// aboutRing reads what the kernel tells of a ring, which is nothing while a thread is at work with it: whoever wants to
// can have one wait there for as long as they like.
func (r *FileReader) aboutRing(c candidate, tid, n int) ([]byte, error) {
	name := nameOf(c.pid, tid, "fdinfo") + "/" + strconv.Itoa(n)
	for try := range ringTries {
		if try > 0 {
			<-time.After(ringPause)
		}
		raw, err := r.fs.memory.readOne(tid, func(int) int { return c.uid }, func(int) ([]byte, error) {
			return r.fs.readUpTo(maxRing, strconv.Itoa(c.pid), name)
		})
		switch _, told := ringFiles(raw); {
		case errors.Is(err, ErrStuck): // it may be for other reasons than its ring
			return nil, ringInUse{}
		case gone(err) || errors.Is(err, fs.ErrNotExist):
			return nil, nil // it was closed, or the process has ended
		case err != nil || told || len(raw) == maxRing:
			return raw, err
		}
	}
	if c.uid == 0 { // whose rings hide nothing from it, and who has no bounds
		return nil, nil
	}
	return nil, ringInUse{}
}

// ringFiles returns the links of the files that are registered with a ring, by what the kernel tells of it
// (io_uring_show_fdinfo in io_uring/fdinfo.c), and whether it tells them:
//
//	UserFiles:	2
//	    0: socket:[4026]
//	    1: /tmp/a\040b\040(deleted)
//	UserBufs:	0
//
// A last line that was cut off is left out.
func ringFiles(about []byte) (links [][]byte, told bool) {
	for line := range lines(about) {
		switch {
		case !told:
			told = bytes.HasPrefix(line, []byte("UserFiles:"))
		default:
			link, ok := slotLink(line)
			if !ok {
				return links, true
			}
			links = append(links, link)
		}
	}
	return links, told
}

// slotLink reads one line of the files of a ring. Other lines begin the next section.
func slotLink(line []byte) ([]byte, bool) {
	slot, path, ok := bytes.Cut(line, []byte(": "))
	if _, isSlot := number(bytes.TrimLeft(slot, " ")); !ok || !isSlot {
		return nil, false
	}
	return unescaped(path), true
}

// unescaped undoes what seq_file_path does to blanks, line ends and backslashes: \ and three octal digits.
func unescaped(path []byte) []byte {
	plain := make([]byte, 0, len(path))
	for len(path) > 0 {
		c, length := path[0], 1
		if c == '\\' && len(path) >= 4 {
			if n, err := strconv.ParseUint(string(path[1:4]), 8, 8); err == nil {
				c, length = byte(n), 4
			}
		}
		plain, path = append(plain, c), path[length:]
	}
	return plain
}
