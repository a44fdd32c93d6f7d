// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// The saved ids stay root's, which setreuid(2) would change (setresuid(2)).
func seteuid(uid int) error { return syscall.Setresuid(-1, uid, -1) }

func setegid(gid int) error { return syscall.Setresgid(-1, gid, -1) }

// leastSignals is more signals than this process has threads.
const leastSignals = 1024

// reachesThreads returns why the threads of this process may not all get the signal by which the runtime
// has them change their user (AllThreadsSyscall in package syscall). It waits for each of them, with all
// others stopped, for ever: nothing in this process could end that.
func reachesThreads() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_SIGPENDING, &limit); err != nil {
		return err
	}
	if limit.Cur < leastSignals {
		return fmt.Errorf("only %d signals may wait (RLIMIT_SIGPENDING), and it takes %d", limit.Cur, leastSignals)
	}
	return nil
}
