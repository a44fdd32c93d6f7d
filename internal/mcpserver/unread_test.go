// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcpserver

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Clients give a server a pipe, or, as Node.js does, a pair of sockets.
func TestWaitsUntilTheClientHasRead(t *testing.T) {
	for name, open := range map[string]func() (r, w *os.File, err error){"pipe": os.Pipe, "sockets": socketPair} {
		t.Run(name, func(t *testing.T) {
			r, w, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			if _, err := w.WriteString("progress\n"); err != nil {
				t.Fatal(err)
			}
			if n := unread(int(w.Fd())); n < len("progress\n") {
				t.Fatalf("%d bytes are said to be unread", n)
			}
			var line [9]byte
			taken := make(chan struct{})
			go func() {
				defer close(taken)
				io.ReadFull(r, line[:])
			}()
			waitRead(w)
			if n := unread(int(w.Fd())); n != 0 {
				t.Errorf("%d bytes are unread afterwards", n)
			}
			<-taken
		})
	}
}

func TestWaitsForNoClientWhoseReadingIsNotTold(t *testing.T) {
	waitRead(io.Discard)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	waitRead(null)
}

func socketPair() (r, w *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w"), nil
}
