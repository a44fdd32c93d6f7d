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

// maxLocks caps what is read of /proc/locks, in bytes.
const maxLocks = 1 << 20

// locked says whether somebody holds a lock on one of some files. They cannot
// be opened without root, but the kernel lists the locks that it keeps, and everyone may
// know the number of a file (proc_locks(5)). Locks of processes outside of our PID namespace
// are not listed.
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

// lockedFiles returns the files of /proc/locks that somebody may write alone,
// each as "fe:00:1234".
func lockedFiles(raw []byte) map[string]bool {
	files := map[string]bool{}
	for line := range bytes.Lines(raw) {
		// "1: POSIX  ADVISORY  WRITE 115 fe:00:9985986 0 EOF"; what waits for a
		// lock has an arrow after the number.
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
