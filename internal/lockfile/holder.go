// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Bounds of the search for a holder.
const (
	maxLocks = 1 << 20 // bytes of /proc/locks, some 15,000 locks
	maxOpen  = 256     // files of each process that are inspected
)

// Locked reports whether a process holds a flock(2) lock on the file at path. It relies on
// /proc/locks, so it returns false on systems without that file and for holders in another
// container.
func Locked(path string) bool { return len(holders(path)) > 0 }

// holderOf returns the process that holds a flock(2) lock on the file at path, or 0 if that is not
// certain. Only root can inspect root's processes.
func holderOf(path string) int {
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

// holders lists the processes that have locked a file with the inode number of the one at path and
// are the owner's of that file, or root's: files of other file systems have the same numbers, and
// anybody may lock those.
func holders(path string) []int {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	return slices.DeleteFunc(parseLocks(readUpTo(f, maxLocks), file.Ino), func(pid int) bool {
		return isOthers(filepath.Join("/proc", strconv.Itoa(pid)), file.Uid)
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

// readUpTo reads a file of unknown size.
func readUpTo(f *os.File, limit int) string {
	var all strings.Builder
	part := make([]byte, 64<<10)
	for all.Len() < limit {
		n, err := f.Read(part)
		all.Write(part[:n])
		if err != nil || n == 0 {
			break
		}
	}
	return all.String()
}

// parseLocks returns the processes that hold a flock(2) lock on an inode. The lines are those of
// proc_locks(5), "1: FLOCK ADVISORY WRITE 812 fe:01:131 0 EOF"; those with an arrow wait for a
// lock. The device is not compared, because overlay file systems show a different one here than
// stat(2) does.
func parseLocks(text string, inode uint64) []int {
	var found []int
	suffix := fmt.Sprintf(":%d", inode)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], suffix) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 && !slices.Contains(found, pid) {
			found = append(found, pid)
		}
	}
	return found
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
