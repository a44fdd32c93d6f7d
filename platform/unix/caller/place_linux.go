// SPDX-License-Identifier: Apache-2.0

package caller

import "golang.org/x/sys/unix"

// setLock locks for an open file. A lock of the process would be gone with its table of open files, which a thread
// that waits for a file system has no part in (platform/linux/caller).
const setLock = unix.F_OFD_SETLK
