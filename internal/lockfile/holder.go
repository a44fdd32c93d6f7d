// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxOpen is how many files of each process are inspected.
const maxOpen = 256

// Locked reports whether a process holds a flock(2) lock on the file at path. It relies on
// /proc/locks, so it returns false on systems without that file and for holders in another
// container. It fails with [ErrTooManyLocks] where none was found among those that were read.
func Locked(path string) (held bool, err error) {
	err = eachHolder(path, func(int) bool {
		held = true
		return false
	})
	return held, err
}

// holderOf returns the process that holds a flock(2) lock on the file at path, or 0 if that is not
// certain. Only root can inspect root's processes.
func holderOf(path string) (holder int) {
	file, err := os.Stat(path)
	if err != nil {
		return 0
	}
	for _, pid := range holders(path) {
		if pid != os.Getpid() && hasOpen(pid, file) {
			return pid
		}
	}
	return 0
}

// holders lists the processes that hold a flock(2) lock on the file at path, as far as they are found.
func holders(path string) (found []int) {
	eachHolder(path, func(pid int) bool { //nolint:errcheck // the others are not found
		if !slices.Contains(found, pid) {
			found = append(found, pid)
		}
		return true
	})
	return found
}

// eachHolder calls f, until that returns false, with the processes that have locked a file with the inode number
// of the one at path and are the owner's of that file, or root's: files of other file systems have the same
// numbers, and anybody may lock those. The one that signed comes first: locks of others can push it out of
// /proc/locks, and where they end while that is read, what stands behind them moves and is passed over.
func eachHolder(path string, f func(pid int) (more bool)) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // nobody has locked what is not there
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if h, ok := signed(path); ok && hasOpen(h.PID, info) && !f(h.PID) {
		return nil
	}
	locks, err := os.Open("/proc/locks")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer locks.Close() //nolint:errcheck // only read from
	return eachFlock(locks, file.Ino, func(pid int) bool {
		return isOthers(filepath.Join("/proc", strconv.Itoa(pid)), file.Uid) || f(pid)
	})
}

// isOthers says that a process is neither owner's nor root's; one that hides may be. Whose rights it has is asked
// for first: a status file costs what an ordinary user likes, who can be in 65,536 groups in a user namespace.
func isOthers(dir string, owner uint32) bool {
	var has syscall.Stat_t
	if err := syscall.Stat(dir, &has); err != nil {
		return false
	}
	if has.Uid != owner && has.Uid != 0 {
		return true
	}
	uid := realUID(dir)
	return uid != "" && uid != strconv.Itoa(int(owner)) && uid != "0"
}

// realUID returns the real user ID of a process; "" if it cannot be read.
func realUID(dir string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(raw) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "Uid:" {
			return string(fields[1])
		}
	}
	return ""
}

// eachFlock calls f with the processes that hold a flock(2) lock on an inode, until it returns false. The device
// is not compared, because overlay file systems show a different one here than stat(2) does.
func eachFlock(locks io.Reader, inode uint64, f func(pid int) (more bool)) error {
	suffix := fmt.Sprintf(":%d", inode)
	return EachLock(locks, func(fields []string) bool {
		if fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], suffix) {
			return true
		}
		pid, err := strconv.Atoi(fields[4])
		return err != nil || pid < 1 || f(pid)
	})
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, file os.FileInfo) bool {
	directory := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	dir, err := os.Open(directory)
	if err != nil {
		return false
	}
	defer dir.Close() //nolint:errcheck // only read from
	names, err := dir.Readdirnames(maxOpen)
	if err != nil {
		return false
	}
	for _, name := range names {
		if isFile(filepath.Join(directory, name), file) {
			return true
		}
	}
	return false
}
