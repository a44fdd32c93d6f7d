// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sentinel/internal/lockfile"
	"sentinel/platform/unix/hostfile"
)

// locked reports whether a process holds a lock on one of the files. It fails where that is not known.
func (m machine) locked(names ...string) (held bool, err error) {
	var closed []string
	for _, name := range names {
		one, failed := isLocked(m.path(name))
		switch {
		case one:
			return true, nil
		case errors.Is(failed, fs.ErrNotExist):
		case errors.Is(failed, fs.ErrPermission):
			closed = append(closed, m.path(name))
		default:
			err = errors.Join(err, failed)
		}
	}
	if len(closed) == 0 {
		return false, err
	}
	held, failed := m.listed(closed)
	if held {
		return true, nil
	}
	return false, errors.Join(err, failed)
}

// listed looks for files that only root can open in the list of all locks, which everyone may read: by inode
// number (proc_locks(5)). Locks of processes outside this PID namespace are not listed.
func (m machine) listed(paths []string) (held bool, err error) {
	var numbers []string
	for _, path := range paths {
		number, err := fileNumber(path)
		if err != nil {
			return false, err
		}
		numbers = append(numbers, number)
	}
	locks, err := hostfile.Open(m.path("proc/locks"))
	if err != nil {
		return false, err
	}
	defer locks.Close() //nolint:errcheck // only read from
	err = lockfile.EachLock(locks, func(fields []string) bool {
		held = isWriteLock(fields) && slices.Contains(numbers, fields[5])
		return !held
	})
	return held, err
}

// isWriteLock says that a line of /proc/locks is of a process that keeps others from reading. That of a process
// which waits has an arrow after the number.
func isWriteLock(fields []string) bool { return fields[1] == "POSIX" && fields[3] == "WRITE" }

// fileNumber names a file as the kernel does in /proc/locks.
func fileNumber(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: path, Err: err}
	}
	device := uint64(st.Dev) //nolint:unconvert // signed on another system
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(device), unix.Minor(device), st.Ino), nil
}
