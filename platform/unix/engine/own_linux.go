// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// peerOf returns the user who listens at the other end (SO_PEERCRED of unix(7)).
func peerOf(fd int) (int, error) {
	who, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(who.Uid), nil
}

// withoutLinks opens what is at a path for nothing but to hold it (openat2(2), Linux 5.6).
var withoutLinks = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}

// pinOwn holds the socket of a user, who can exchange it, or a directory above it, for a link: also for one
// that leads through /proc/PID/root into a mount of the user's whose server never answers. Kernels and
// filters of system calls without openat2 get what is there now.
func pinOwn(path string) (pinned, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &withoutLinks)
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return seen(path)
	case errors.Is(err, unix.ELOOP):
		return pinned{}, errLink
	case err != nil:
		return pinned{}, &os.PathError{Op: "openat2", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err != nil {
		f.Close() //nolint:errcheck // only looked at
		return pinned{}, err
	}
	return pinned{fmt.Sprintf("/proc/self/fd/%d", fd), info, func() { f.Close() }}, nil //nolint:errcheck // only looked at
}
