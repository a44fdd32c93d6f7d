// SPDX-License-Identifier: Apache-2.0

package caller

import "golang.org/x/sys/unix"

// prioDarwinProcess means the state "background" of a process (PRIO_DARWIN_PROCESS in
// sys/resource.h), in which macOS slows down its processor time, storage and network; taskpolicy -b
// starts programs in it, and they hand it on.
const prioDarwinProcess = 4

// resetPriority sets the niceness 0 and leaves the background.
func resetPriority() {
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil && nice > 0 {
		unix.Setpriority(unix.PRIO_PROCESS, 0, 0) //nolint:errcheck // see Leave
	}
	unix.Setpriority(prioDarwinProcess, 0, 0) //nolint:errcheck // see Leave
}
