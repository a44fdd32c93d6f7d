// SPDX-License-Identifier: Apache-2.0

package engine

import "golang.org/x/sys/unix"

// peerOf returns the user who listens at the other end (LOCAL_PEERCRED of unix(4)).
func peerOf(fd int) (int, error) {
	who, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(who.Uid), nil
}

// pinOwn looks at the socket of a user, whose path has no links in it.
func pinOwn(path string) (pinned, error) { return seen(path) }
