// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import "golang.org/x/sys/unix"

// oldWaits are calls that later architectures do not have.
var oldWaits = []wait{
	{[]int{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT}, "waits for something to happen on its files and sockets, which is how servers idle", false},
	{[]int{unix.SYS_PAUSE}, "waits for a signal", false},
	{[]int{unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT}, "waits for a file to open, as where a file system does not answer", false},
}
