// SPDX-License-Identifier: Apache-2.0

// Package peerclose notices that nobody reads any longer what a program is going to print.
package peerclose

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Watch calls gone when the reader at the other end of w closes it. A
// write would show that too, but until there is something to write, programs would work
// for nobody. The returned function ends the watch. A w that is neither a pipe nor a
// socket is not watched.
func Watch(w io.Writer, gone func()) (stop func()) {
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
		closed := false
		err := conn.Control(func(fd uintptr) { closed = waitPeerClose(fd, quit.Fd()) })
		if err == nil && closed {
			gone()
		}
	}()
	return func() { end.Close() } //nolint:errcheck // closing is the message
}

// waitPeerClose waits until the other end of file or of quit is closed, and
// reports whether it was that of file. poll(2) reports POLLERR and POLLHUP without being asked.
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
