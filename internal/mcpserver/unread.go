// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"io"
	"os"
	"time"
)

// Looking whether the client has read what was written.
const (
	unreadPause = 2 * time.Millisecond
	unreadLimit = 2 * time.Second
)

// waitRead waits until the reader at the other end of w has taken all that was written, at most
// [unreadLimit]. Where the system does not tell it does not wait.
func waitRead(w io.Writer) {
	file, ok := w.(*os.File)
	if !ok {
		return
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	for range unreadLimit / unreadPause {
		rest := 0
		if conn.Control(func(fd uintptr) { rest = unread(int(fd)) }) != nil || rest <= 0 {
			return
		}
		<-time.After(unreadPause)
	}
}
