// SPDX-License-Identifier: Apache-2.0

// Package atomicfile writes files that are whole or not there, and that are
// still there after a power cut.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

// Write replaces the file at path and sets exactly mode, whatever the umask is.
// After a crash the file has the old content or the new one; after an error it has
// the old one, unless only [SyncDir] failed. A symbolic link at path is replaced,
// not followed.
//
// It removes temporary files that crashed writers of path left behind, once they
// are a minute old. Concurrent writers are allowed: the last one wins.
func Write(path string, data []byte, mode fs.FileMode) error {
	return WriteFunc(path, data, func(f *os.File) error { return f.Chmod(mode) })
}

// WriteFunc is [Write] for a file that needs more than a mode. When prepare is
// called, the new file has mode 0600 and all of its content, and is not yet at
// path.
func WriteFunc(path string, data []byte, prepare func(*os.File) error) error {
	if err := removeLeftovers(path); err != nil {
		return err
	}
	f, err := pending(path, data, prepare)
	if err != nil {
		return err
	}
	defer f.release()
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Create is [Write] for a file that must not exist yet: of several concurrent runs
// one succeeds, and the others get fs.ErrExist.
func Create(path string, data []byte, mode fs.FileMode) error {
	f, err := pending(path, data, func(f *os.File) error { return f.Chmod(mode) })
	if err != nil {
		return err
	}
	defer f.release()
	if err := errors.Join(f.Sync(), os.Link(f.Name(), path)); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// A pendingFile has been written, but is not at its path yet. Its lock shows that
// it is not a leftover (see abandoned). The lock is on a second descriptor, because the
// file is closed before it is renamed.
type pendingFile struct {
	*renameio.PendingFile
	lock *os.File
}

// release removes the file unless it is at its path by now.
func (f pendingFile) release() {
	f.Cleanup()    //nolint:errcheck // a leftover at worst
	f.lock.Close() //nolint:errcheck // only locked
}

// pending writes a temporary file in the directory of path, and so on the same file
// system, whatever TMPDIR is.
func pending(path string, data []byte, prepare func(*os.File) error) (pendingFile, error) {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return pendingFile{}, err
	}
	lock, err := locked(f.Name())
	if err != nil {
		return pendingFile{}, errors.Join(err, f.Cleanup())
	}
	p := pendingFile{f, lock}
	_, err = f.Write(data)
	if err == nil {
		err = prepare(f.File)
	}
	if err != nil {
		p.release()
		return pendingFile{}, err
	}
	return p, nil
}

// locked opens and locks a file that nobody else may open. It waits for another
// writer that is checking whether the file is in use.
func locked(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) { // a signal ends the wait on some file systems
	}
	return f, nil
}

// SyncDir makes changes of a directory's entries survive a power cut (fsync(2)),
// which renameio leaves to its callers. It is not an error if the file system does
// not support that.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// removeLeftovers removes the temporary files that crashed writers of path left
// behind.
func removeLeftovers(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // only read from
	names, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		leftover := filepath.Join(filepath.Dir(path), name)
		if !isLeftover(name, filepath.Base(path)) || !abandoned(leftover) {
			continue
		}
		if err := os.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// minAge is how old a leftover is at least. It covers the moment in which a writer
// has made its file and not locked it yet.
const minAge = time.Minute

// abandoned reports whether no writer is using the file: it is old, and nobody
// holds a lock on it (flock(2)), which would end with its process. On a file system
// without locks only the age counts.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || time.Since(info.ModTime()) < minAge {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer f.Close() //nolint:errcheck // only locked
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// minDigits is the least number of digits in the name of a leftover. renameio
// appends a random number of up to 19 digits; fewer than 15 are rarer than 1 in
// 9,000, and could be a date in the name of another file.
const minDigits = 15

// isLeftover reports whether name has the form that renameio gives to a temporary
// file for base.
func isLeftover(name, base string) bool {
	digits, found := strings.CutPrefix(name, "."+base)
	_, err := strconv.ParseInt(digits, 10, 64)
	return found && err == nil && len(digits) >= minDigits && digits[0] != '-' && digits[0] != '+'
}
