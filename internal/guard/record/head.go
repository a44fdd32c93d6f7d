// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
)

const (
	headName   = "head"
	asideName  = headName + ".damaged-"
	headOrigin = "sentinel-guard log"
	maxHead    = 4 << 10 // KiB
	lockWait   = 2 * time.Second
)

// A mark is how far one file was signed.
type mark struct {
	file    string
	records int64
	root    tlog.Hash
	closed  bool // nothing but lines that tell of heads follows
}

// A head is the signed list of all files.
type head struct {
	number uint64 // of signatures so far
	marks  []mark // by name
}

var errHead = errors.New("the head does not verify")

// text is what is signed: the origin, the number, and a line a file.
func (h head) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d\n", headOrigin, h.number)
	for _, m := range h.marks {
		state := "open"
		if m.closed {
			state = "closed"
		}
		fmt.Fprintf(&b, "%s %s %d %s\n", m.file, state, m.records, m.root)
	}
	return b.String()
}

// readHead returns the head, an empty one where there is none. The error is errHead when its
// signature does not hold.
func readHead(dir string, k key) (head, error) {
	_, h, err := signedHead(dir, k)
	if errors.Is(err, fs.ErrNotExist) {
		return head{}, nil
	}
	return h, err
}

// signedHead returns the head with its signature, and what it says.
func signedHead(dir string, k key) (signed string, h head, err error) {
	raw, err := trust.RootOrSelf.Read(filepath.Join(dir, headName), maxHead)
	if errors.Is(err, trust.ErrNotRegular) || errors.Is(err, trust.ErrTooLarge) {
		err = errHead
	}
	if err != nil {
		return "", head{}, err
	}
	n, err := note.Open(raw, note.VerifierList(k.verifier))
	if err != nil {
		return "", head{}, errHead
	}
	h, err = parseHead(n.Text)
	return string(raw), h, err
}

func parseHead(text string) (head, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 || lines[0] != headOrigin {
		return head{}, errHead
	}
	var h head
	var err error
	if h.number, err = strconv.ParseUint(lines[1], 10, 64); err != nil {
		return head{}, errHead
	}
	for _, line := range lines[2:] {
		f := strings.Fields(line)
		if len(f) != 4 {
			return head{}, errHead
		}
		records, err := strconv.ParseInt(f[2], 10, 64)
		root, rootErr := tlog.ParseHash(f[3])
		if errors.Join(err, rootErr) != nil {
			return head{}, errHead
		}
		h.marks = append(h.marks, mark{f[0], records, root, f[1] == "closed"})
	}
	return h, nil
}

func (h head) lists(file string) bool {
	return slices.ContainsFunc(h.marks, func(m mark) bool { return m.file == file })
}

func (h *head) put(m mark) {
	for i := range h.marks {
		if h.marks[i].file != m.file {
			continue
		}
		if m.records >= h.marks[i].records {
			m.closed = m.closed || h.marks[i].closed
			h.marks[i] = m
		}
		return
	}
	h.marks = append(h.marks, m)
}

// publish signs a head with these marks and returns its number. A head that does not verify is set
// aside under another name and not overwritten.
func publish(dir string, k key, marks ...mark) (number uint64, err error) {
	release, err := lockHead(dir)
	if err != nil {
		return 0, err
	}
	defer release()
	h, err := readHead(dir, k)
	if errors.Is(err, errHead) {
		aside := filepath.Join(dir, asideName+time.Now().UTC().Format("20060102T150405.000000000Z"))
		h, err = head{}, os.Rename(filepath.Join(dir, headName), aside)
	}
	if err != nil {
		return 0, err
	}
	h.number++
	for _, m := range marks {
		h.put(m)
	}
	h.expire(dir)
	signed, err := note.Sign(&note.Note{Text: h.text()}, k.signer)
	if err != nil {
		return 0, err
	}
	return h.number, atomicfile.Write(filepath.Join(dir, headName), signed, 0o600)
}

// Bounds of what is kept.
const (
	keepFor   = 30 * 24 * time.Hour
	maxTotal  = 256 << 20 // bytes
	maxListed = 5000      // files, so that the head stays within its bound
)

// expire removes files that are too old, or too much together, oldest first. What is written in is
// kept. Neither a length nor a date that somebody gives a file makes the guard remove others, or it, before
// its time: a file counts as at most what a guard writes, and its age is that of its name as well.
func (h *head) expire(dir string) {
	var total int64
	kept := h.marks[:0:0]
	for i, m := range slices.Backward(h.marks) {
		info, err := os.Lstat(filepath.Join(dir, m.file))
		if err == nil {
			total += min(info.Size(), maxRead)
		}
		much := total > maxTotal || len(h.marks)-i > maxListed
		switch {
		case errors.Is(err, fs.ErrNotExist) && m.records == 0 && old(m.file): // its guard was killed before it was made
			continue
		case err == nil && (much || old(m.file) && time.Since(info.ModTime()) > keepFor) && m.ended(dir) && os.Remove(filepath.Join(dir, m.file)) == nil:
			continue
		}
		kept = append(kept, m)
	}
	slices.Reverse(kept)
	h.marks = kept
}

// old says whether a file is too old by its name, which begins with when its session began.
func old(name string) bool {
	began, _, _ := strings.Cut(name, "-")
	at, err := time.Parse(fileTime, began)
	return err == nil && time.Since(at) > keepFor
}

// ended says whether nobody writes a file any more: it was closed, or its guard was killed.
func (m mark) ended(dir string) bool {
	if m.closed {
		return true
	}
	held, err := locked(filepath.Join(dir, m.file))
	return err == nil && !held
}

// lockHead keeps other guards from signing meanwhile. Where the file system has no locks, and when
// one is held for too long by a guard that was stopped, it goes on without: the worst is a mark that
// is lost until the next is signed.
func lockHead(dir string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	const pause = 2 * time.Millisecond
	for range lockWait / pause {
		err := flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		<-time.After(pause)
	}
	return func() { f.Close() }, nil //nolint:errcheck // only locked
}

// flock is syscall.Flock, but for tests of file systems without locks.
var flock = syscall.Flock
