// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// watchPeerClose calls gone when the reader at the other end of w closes it. A
// write would tell too, but only when there is something to write, and until then
// programs would go on working for nobody. The returned function ends the watch. A w
// that is no pipe or socket is never closed that way.
func watchPeerClose(w io.Writer, gone func()) (stop func()) {
	file, ok := w.(*os.File)
	if !ok {
		return func() {}
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return func() {}
	}
	quit, end, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	go func() {
		defer quit.Close() //nolint:errcheck // nothing was written
		hungUp := false
		err := conn.Control(func(fd uintptr) { hungUp = waitPeerClose(fd, quit.Fd()) })
		if err == nil && hungUp {
			gone()
		}
	}()
	return func() { end.Close() } //nolint:errcheck // closing is the message
}

// waitPeerClose waits until the other end of file or of quit is closed, and reports
// whether it was that of file. poll(2) reports both without being asked.
func waitPeerClose(file, quit uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(file)}, {Fd: int32(quit)}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil, fds[1].Revents != 0:
			return false
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		case fds[0].Revents != 0: // not a descriptor that can be watched
			return false
		}
	}
}
