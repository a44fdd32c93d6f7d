// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxLocks bounds what is read of /proc/locks, in bytes: some 70,000 locks, of which any user can hold as many as
// memory allows. Each page of it costs the kernel a walk over all locks before, so that these take some seconds.
const maxLocks = 4 << 20

// ErrTooManyLocks says that a lock may be held which is not among those that were read.
var ErrTooManyLocks = errors.New("users hold more locks than are read of /proc/locks")

// EachLock calls f with the fields of each line of /proc/locks, which all users together write, until f returns
// false: "1:", "FLOCK", "ADVISORY", "WRITE", "812", "fe:01:131", "0", "EOF". Who waits for a lock has an arrow as
// the second field (proc_locks(5)).
func EachLock(locks io.Reader, f func(fields []string) (more bool)) error {
	limited := &io.LimitedReader{R: locks, N: maxLocks}
	lines := bufio.NewScanner(limited)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) >= 8 && !f(fields) {
			return nil
		}
	}
	if limited.N == 0 {
		return ErrTooManyLocks
	}
	return lines.Err()
}
