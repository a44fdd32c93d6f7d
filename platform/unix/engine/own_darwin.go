// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peer returns the user who listens at the other end (LOCAL_PEERCRED of unix(4)).
func peer(conn net.Conn) (uid int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		var who *unix.Xucred
		if who, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); failed == nil {
			uid = int(who.Uid)
		}
	})
	return uid, errors.Join(err, failed)
}

// pinOwn looks at the socket of a user, whose path has no links in it.
func pinOwn(path string) (pinned, error) { return seen(path) }
