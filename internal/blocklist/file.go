// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sentinel/internal/atomicfile"
	"sentinel/internal/fault"
	"sentinel/internal/trust"
)

// maxSize bounds the file, in KiB. A full list of the longest texts is larger;
// one of usual texts is a third of it.
const maxSize = 64 << 10

// A fileContent is the file at one moment.
type fileContent struct {
	raw     []byte
	entries []entry
	// missing says that there is no file: there never was one, it is in quarantine,
	// or somebody removed it.
	missing bool
}

// A damagedError is a file that holds no list: cut off, overwritten, or changed by
// something that does not know its format.
type damagedError struct {
	path  string
	cause error
}

func (d *damagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", d.path, d.cause) }

func (d *damagedError) Unwrap() error { return d.cause }

// As makes it STATE_CORRUPT for callers that do not quarantine the file.
func (d *damagedError) As(target any) bool {
	e, ok := target.(**fault.Error)
	if ok {
		*e = fault.Wrap(fault.StateCorrupt, "The list of blocked addresses cannot be read", d).
			WithFix("Set it aside, and keep what the packet filter blocks, by running this twice: sudo sentinel --restore-blocklist")
	}
	return ok
}

// read reads the file. It returns known, the content of an earlier reading, where
// nothing has changed. The error is a *damagedError for a file that can be quarantined; a
// file that other users could have written, or something that is no file, is STATE_CORRUPT and
// stays where it is, for an administrator to look at.
func (l *List) read(known fileContent) (fileContent, error) {
	raw, err := l.raw()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fileContent{missing: true}, nil
	case err != nil:
		return fileContent{}, l.unreadable(err)
	case known.raw != nil && bytes.Equal(raw, known.raw):
		return known, nil
	}
	entries, err := decode(raw)
	if errors.Is(err, errNewer) {
		return fileContent{}, l.unreadable(err)
	}
	if err != nil {
		return fileContent{}, &damagedError{l.path, err}
	}
	return fileContent{raw: raw, entries: entries}, nil
}

var errLink = errors.New("it is a symbolic link")

func (l *List) raw() ([]byte, error) {
	if info, err := os.Lstat(l.path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errLink
	}
	return trust.RootOrSelf.Read(l.path, maxSize)
}

// unreadable tells a file that cannot be read from one that can and must not be
// relied on.
func (l *List) unreadable(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, trust.ErrTooLarge):
		return &damagedError{l.path, err}
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(fault.PermissionDenied, "The list of blocked addresses is not readable without root", err)
	case errors.As(err, &path):
		return fault.Wrap(fault.Unavailable, "The list of blocked addresses cannot be read", err).
			WithFix("Fix what the message names, then try again. Blocks in the packet filter stay.")
	default:
		return fault.Wrap(fault.StateCorrupt, "The list of blocked addresses at "+l.path+" cannot be relied on", err).
			WithFix("Nothing was changed. Find out who did that; then make it a file that root owns and nobody else can write, or move it away: what the packet filter blocks is taken over into a new list.")
	}
}

// save replaces the file: after a crash at any moment it holds the old entries
// or the new ones. Only one run at a time may be here, which the lock sees to.
func (l *List) save(entries []entry) error {
	raw, err := encode(entries)
	if err == nil && len(raw) > maxSize<<10 {
		err = trust.ErrTooLarge
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(l.path, raw, 0o644)
}

// notWritten says that the list could not be written, and so nothing was done.
func notWritten(err error) error {
	return fault.Wrap(fault.Unavailable, "The list of blocked addresses cannot be written", err).
		WithFix("Nothing was changed. Fix what the message names, or make room: df -h /var/lib/sentinel")
}

// maxQuarantined is how many damaged files are kept. With more, something is wrong
// that one more in quarantine would only hide.
const maxQuarantined = 10

// quarantine renames a damaged file, never over another, and returns the error
// that reports it. The next run finds no file and takes over what the kernel has. The caller
// must hold the lock.
func (l *List) quarantine(d *damagedError) error {
	if len(l.quarantined()) >= maxQuarantined {
		return fault.Wrap(fault.StateCorrupt, "The list of blocked addresses was not set aside, because too many damaged ones lie beside it", d).
			WithFix("Look at them, then remove them: " + l.path + quarantineMark + "*")
	}
	path := l.quarantinePath()
	if err := errors.Join(os.Rename(l.path, path), atomicfile.SyncDir(filepath.Dir(path))); err != nil {
		return notWritten(err)
	}
	return fault.Wrap(fault.StateCorrupt, "The list of blocked addresses was set aside as "+path+" because", d).
		WithFix("Nothing else was changed. Run it again: what the packet filter blocks is taken over into a new list. Then look at " + path + " for what is missing there.")
}

// quarantinePath returns a name that no file has. At most maxQuarantined are taken.
func (l *List) quarantinePath() string {
	base := l.path + quarantineMark + l.now().UTC().Format("20060102T150405Z")
	path := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || n > maxQuarantined+1 {
			return path
		}
		path = fmt.Sprintf("%s-%d", base, n)
	}
}

// quarantineMark stands between the name of the list and the time at which it was
// found damaged.
const quarantineMark = ".corrupt-"

// quarantined lists the damaged files in quarantine.
func (l *List) quarantined() []string {
	found, err := filepath.Glob(l.path + quarantineMark + "*")
	if err != nil {
		return nil
	}
	return found
}
