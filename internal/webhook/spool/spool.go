// SPDX-License-Identifier: Apache-2.0

// Package spool keeps documents on disk until their receiver has them.
//
// A document is written before it is sent and removed after it has arrived, so that neither a
// crash nor a receiver that is down loses one; a repeated delivery has the same ID. Each file is
// one document. Files are numbered because the clock may be set: the numbers decide the order, the
// clock only the age.
package spool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
	"sentinel/internal/webhook"
)

const (
	suffix   = ".doc"
	corrupt  = ".corrupt" // quarantined: the file is damaged
	refused  = ".refused" // quarantined: the receiver refused it
	arrived  = ".sent"    // delivered, and emptied: tells the run that made it, which may wait for its turn
	partial  = "."        // how the name of a file begins that is not whole yet
	lockName = "lock"

	maxNames       = 100_000 // in the directory; this program never makes more
	maxFile        = 1 << 10 // KiB of one document
	maxQuarantined = 20      // files of each kind that are kept
	// leftoverAge is when a file that was not finished belongs to nobody any more, and nobody waits for what
	// tells that a document arrived.
	leftoverAge = 10 * time.Minute
	// maxClockSkew is how far in the future the time of a document may be: another
	// process may have read the clock a moment later.
	maxClockSkew = time.Minute
)

// A Spool keeps the documents for one receiver. Several processes may use it
// concurrently.
type Spool struct {
	dir         string
	maxBytes    int64
	maxAge      time.Duration
	now         func() time.Time
	lockTimeout time.Duration // for another process that is sending
}

// New returns the spool for the receiver at a URL, in its own directory below dir.
// Nothing is created before the first use.
func New(dir, url string, maxBytes int64, maxAge time.Duration) *Spool {
	sum := sha256.Sum256([]byte(url))
	return &Spool{dir: filepath.Join(dir, hex.EncodeToString(sum[:8])), maxBytes: maxBytes, maxAge: maxAge, now: time.Now, lockTimeout: 15 * time.Second}
}

// An entry is a file, whose name is NUMBER-TIME-ID.doc or NUMBER-TIME-ID.SENDER.doc with the time in
// seconds since 1970.
type entry struct {
	number int64
	at     time.Time
	id     string
	sender string // see webhook.Document
	size   int64
}

func (e entry) name() string {
	name := fmt.Sprintf("%015d-%d-%s", e.number, e.at.Unix(), e.id)
	if e.sender != "" {
		name += "." + e.sender
	}
	return name + suffix
}

// parseName parses the name of a file; only documents are entries.
func parseName(name string) (entry, bool) {
	text, found := strings.CutSuffix(name, suffix)
	parts := strings.SplitN(text, "-", 3)
	if !found || len(parts) < 3 {
		return entry{}, false
	}
	number, err1 := strconv.ParseInt(parts[0], 10, 64)
	at, err2 := strconv.ParseInt(parts[1], 10, 64)
	id, sender, _ := strings.Cut(parts[2], ".")
	e := entry{number: number, at: time.Unix(at, 0), id: id, sender: sender}
	return e, err1 == nil && err2 == nil && number > 0 && e.name() == name
}

// open creates the directory if it is missing and rejects one that another user
// could have written to.
func (s *Spool) open() error {
	above := filepath.Dir(s.dir)
	for _, dir := range []string{above, s.dir} {
		if err := trust.MakeDir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := trust.RootOrSelf.Dirs(s.dir); err != nil {
		return err
	}
	for _, dir := range []string{above, s.dir} {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a directory", dir)
		case info.Mode().Perm()&0o077 != 0:
			return fmt.Errorf("%s is open to other users; it holds what only root may see (chmod 0700 %[1]s)", dir)
		}
		if err := trust.RootOrSelf.Info(dir, info); err != nil {
			return err
		}
	}
	return nil
}

// list returns the waiting documents, oldest first.
func (s *Spool) list() ([]entry, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var found []entry
	for _, name := range names {
		e, ok := parseName(name)
		if !ok {
			continue
		}
		if info, err := os.Lstat(filepath.Join(s.dir, name)); err == nil { // else another process has sent it
			e.size = info.Size()
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id)) })
	return found, nil
}

func (s *Spool) names() ([]string, error) {
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	names, err := d.Readdirnames(maxNames)
	if len(names) == maxNames {
		return nil, fmt.Errorf("%s holds too many files", s.dir)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return names, nil
}

// put writes a document behind all others and returns its entry. The file is
// complete or does not exist.
func (s *Spool) put(d webhook.Document) (entry, error) {
	if err := s.open(); err != nil {
		return entry{}, err
	}
	waiting, err := s.list()
	if err != nil {
		return entry{}, err
	}
	e := entry{number: 1, at: s.now(), id: d.ID, sender: d.Sender}
	if n := len(waiting); n > 0 {
		e.number = waiting[n-1].number + 1
	}
	raw := encode(d)
	if len(raw) > maxFile<<10 {
		return entry{}, errors.New("the document is too large to be kept")
	}
	e.size = int64(len(raw))
	return e, atomicfile.Write(filepath.Join(s.dir, e.name()), raw, 0o600)
}

// The first line of a file is the hash of the rest.
const hashLength = 2 * sha256.Size

func encode(d webhook.Document) []byte {
	sum := sha256.Sum256(d.Body)
	return append([]byte(hex.EncodeToString(sum[:])+"\n"), d.Body...)
}

// decode returns the body that a file holds.
func decode(raw []byte) ([]byte, error) {
	if len(raw) <= hashLength || raw[hashLength] != '\n' {
		return nil, errors.New("it is cut off")
	}
	body := raw[hashLength+1:]
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != string(raw[:hashLength]) {
		return nil, errors.New("it was changed")
	}
	return body, nil
}

// read returns the document of an entry. The error is fs.ErrNotExist when
// another process has removed it.
func (s *Spool) read(e entry) (webhook.Document, error) {
	path := filepath.Join(s.dir, e.name())
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return webhook.Document{}, trust.ErrNotRegular
	}
	raw, err := trust.RootOrSelf.Read(path, maxFile)
	if err != nil {
		return webhook.Document{}, err
	}
	body, err := decode(raw)
	return webhook.Document{ID: e.id, Body: body, Sender: e.sender}, err
}

func (s *Spool) remove(e entry) error {
	err := os.Remove(filepath.Join(s.dir, e.name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeArrived takes a delivered entry of another run out of the queue, and tells that run.
func (s *Spool) removeArrived(e entry) error {
	if age := s.now().Sub(e.at); age > leftoverAge || age < -leftoverAge {
		return s.remove(e)
	}
	from := filepath.Join(s.dir, e.name())
	to := strings.TrimSuffix(from, suffix) + arrived
	if err := os.Rename(from, to); err != nil {
		return s.remove(e)
	}
	return os.Truncate(to, 0)
}

// fate is what another run has come to know of a document that it took out of the queue. It is not known of one
// that was dropped, or whose file was damaged: nobody has asked the receiver.
func (s *Spool) fate(own entry) (r webhook.Result, known bool) {
	switch {
	case s.aside(own, arrived):
		return webhook.Result{Verdict: webhook.Delivered}, true
	case s.aside(own, refused):
		return webhook.Result{
			Verdict: webhook.Refused, Reason: "refused it when another run sent it", Fix: "Look into the logs of the receiver for what is wrong with the document.",
		}, true
	}
	return webhook.Result{}, false
}

// aside reports whether a document was taken out of the queue for what kind says.
func (s *Spool) aside(own entry, kind string) bool {
	return slices.ContainsFunc(s.quarantined(kind), func(name string) bool {
		e, ok := parseName(strings.TrimSuffix(name, kind) + suffix)
		return ok && e.id == own.id
	})
}

// quarantine takes an entry out of the queue under another name, for a person to
// look at. Only the newest of each kind are kept.
func (s *Spool) quarantine(e entry, kind string) error {
	from := filepath.Join(s.dir, e.name())
	if err := os.Rename(from, strings.TrimSuffix(from, suffix)+kind); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old := s.quarantined(kind)
	for len(old) > maxQuarantined {
		if err := os.Remove(filepath.Join(s.dir, old[0])); err != nil {
			return err
		}
		old = old[1:]
	}
	return nil
}

// quarantined lists the quarantined files of a kind, oldest first.
func (s *Spool) quarantined(kind string) []string {
	names, err := s.names()
	if err != nil {
		return nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, kind) })
	slices.Sort(names)
	return names
}
