// SPDX-License-Identifier: Apache-2.0

package mcpserver

import "golang.org/x/sys/unix"

// unread returns how many bytes the other end of a pipe or a socket has not taken yet, or 0 where
// that is not known: TIOCINQ (FIONREAD) of a pipe counts at both of its ends (fs/pipe.c), and SIOCOUTQ, which
// has the number of TIOCOUTQ, is what a socket has sent (net/unix/af_unix.c).
func unread(fd int) int {
	if n, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ); err == nil {
		return n
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
