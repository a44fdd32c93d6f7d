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

	"github.com/google/renameio/v2"
)

// Write replaces the file at path, which gets exactly mode, whatever the umask
// is. After a crash the file holds the old content or the new one; after an error it
// holds the old one, except when only [SyncDir] failed. A symbolic link at path is replaced,
// not followed.
//
// It removes what a crashed writer of path left beside it. Several may write at the
// same time: the last one wins.
func Write(path string, data []byte, mode fs.FileMode) error {
	return WriteFunc(path, data, func(f *os.File) error { return f.Chmod(mode) })
}

// WriteFunc is [Write] for a file that needs more than a mode. The new file has
// mode 0600 and all of its content when prepare sees it, and is not yet at path.
func WriteFunc(path string, data []byte, prepare func(*os.File) error) (err error) {
	for range attempts {
		if err = replace(path, data, prepare); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// attempts is how often a file is written because another writer took it for a
// leftover in the moment before it was locked.
const attempts = 10

func replace(path string, data []byte, prepare func(*os.File) error) error {
	if err := removeLeftovers(path); err != nil {
		return err
	}
	f, err := pending(path, data, prepare)
	if err != nil {
		return err
	}
	defer f.release()
	return f.CloseAtomicallyReplace()
}

// Create is [Write] for a file that must not be there yet: of several runs at the
// same time one succeeds, and the error of the others is fs.ErrExist.
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

// A pendingFile is written and not at its path yet. The lock says that it is no
// leftover (see inUse). It belongs to a second descriptor, because the file is closed before it
// is renamed.
type pendingFile struct {
	*renameio.PendingFile
	lock *os.File
}

// release removes the file unless it is at its path by now.
func (f pendingFile) release() {
	f.Cleanup()    //nolint:errcheck // a leftover at worst
	f.lock.Close() //nolint:errcheck // only locked
}

// pending writes a file beside path, in the same directory and so on the same
// file system, whatever TMPDIR says.
func pending(path string, data []byte, prepare func(*os.File) error) (pendingFile, error) {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return pendingFile{}, err
	}
	lock, err := locked(f.Name())
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = prepare(f.File)
	}
	if err != nil {
		return pendingFile{}, errors.Join(err, f.Cleanup(), lock.Close())
	}
	return pendingFile{f, lock}, nil
}

// locked opens a file that nobody else may open and locks it. It waits for another
// writer who looks whether the file is in use.
func locked(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) { //nolint:revive // a signal ends the wait on some file systems
	}
	return f, nil
}

// SyncDir makes changes of names in a directory survive a power cut (fsync(2)),
// which renameio leaves to its callers. File systems that cannot do that keep no promise
// that could be broken, and are no error.
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

// removeLeftovers removes what crashed writers of path left beside it.
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
		if !isLeftover(name, filepath.Base(path)) || inUse(leftover) {
			continue
		}
		if err := os.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// inUse says whether a writer is at work on the file: it holds a lock (flock(2)),
// which ends with its process. On a file system without locks nothing is in use.
func inUse(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // only locked
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// minDigits is how many digits a leftover has at least. renameio takes a random
// number of up to 19; one with fewer than 15 is rarer than 1 in 9,000, and may be a date that
// somebody else put there.
const minDigits = 15

// isLeftover says whether name is one that renameio gives to a file that is to
// replace base.
func isLeftover(name, base string) bool {
	digits, found := strings.CutPrefix(name, "."+base)
	_, err := strconv.ParseInt(digits, 10, 64)
	return found && err == nil && len(digits) >= minDigits && digits[0] != '-' && digits[0] != '+'
}
