// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sentinel/platform/unix/hostfile"
)

// maxLocks caps how much of /proc/locks is read, in bytes.
const maxLocks = 1 << 20

// locked reports whether a process holds a lock on one of the files. Without root they cannot be
// opened, but the kernel lists all locks by inode number, which everyone may read (proc_locks(5)).
// Locks of processes outside this PID namespace are not listed.
func (m machine) locked(names ...string) bool {
	raw, err := hostfile.Head(m.path("proc/locks"), maxLocks)
	if err != nil {
		return false
	}
	held := lockedFiles(raw)
	for _, name := range names {
		if held[fileNumber(m.path(name))] {
			return true
		}
	}
	return false
}

// lockedFiles returns the files with an exclusive lock in /proc/locks, each as "fe:00:1234".
func lockedFiles(raw []byte) map[string]bool {
	files := map[string]bool{}
	for line := range bytes.Lines(raw) {
		// "1: POSIX ADVISORY WRITE 115 fe:00:9985986 0 EOF"; waiters have an arrow after the
		// number.
		f := strings.Fields(string(line))
		if len(f) >= 8 && f[1] == "POSIX" && f[3] == "WRITE" {
			files[f[5]] = true
		}
	}
	return files
}

// fileNumber names a file as the kernel does in /proc/locks, or is empty.
func fileNumber(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	device := uint64(st.Dev) //nolint:unconvert // signed on another system
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(device), unix.Minor(device), st.Ino)
}
