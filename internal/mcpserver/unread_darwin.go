// SPDX-License-Identifier: Apache-2.0

package mcpserver

import "golang.org/x/sys/unix"

// unread returns how many bytes the other end of a socket has not taken yet (SO_NWRITE of
// getsockopt(2)), or 0 where that is not known, as with a pipe.
func unread(fd int) int {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NWRITE)
	if err != nil {
		return 0
	}
	return n
}
