// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inode is that of a socket.
func inode(t *testing.T, c interface {
	File() (f *os.File, err error)
}) uint64 {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var about unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &about); err != nil {
		t.Fatal(err)
	}
	return about.Ino
}

// The kernel tells of both ends of a connection, and which of them is the server's.
func TestUnixTellsOfBothEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, name := range []string{path, "@" + path} {
		l, err := net.Listen("unix", name)
		keep(t, l, err)
		c, err := net.Dial("unix", name)
		keep(t, c, err)
		s, err := l.Accept()
		keep(t, s, err)
		client, server := inode(t, c.(*net.UnixConn)), inode(t, s.(*net.UnixConn))
		kind := Pathname
		if name[0] == '@' {
			kind = Abstract
		}
		table, err := ReadUnix(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for inode, want := range map[uint64]UnixSocket{client: {client, server, Unnamed}, server: {server, client, kind}} {
			if got, ok := table.Of(inode); !ok || got != want {
				t.Errorf("%s: %+v, %v, want %+v", name, got, ok, want)
			}
		}
		for _, other := range []uint64{inode(t, l.(*net.UnixListener)), 1<<32 - 1, 1 << 40} {
			if got, ok := table.Of(other); ok {
				t.Errorf("%s: %d is %+v", name, other, got)
			}
		}
	}
}

func TestUnixStopsWhenItsCallerDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadUnix(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrManyUnix) {
		t.Error(err)
	}
}

// Who has very many sockets open does not keep this run busy.
func TestUnixSocketsAreReadWithinBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	keep(t, l, err)
	c, err := net.Dial("unix", path)
	keep(t, c, err)
	s, err := l.Accept() // the kernel tells of no end that nobody has taken yet
	keep(t, s, err)
	for what, read := range map[string]func() (UnixTable, error){
		"of sockets": func() (UnixTable, error) { return readUnix(t.Context(), 1, unixTime) },
		"of time":    func() (UnixTable, error) { return readUnix(t.Context(), maxUnix, time.Nanosecond) },
	} {
		if got, err := read(); !errors.Is(err, ErrManyUnix) || len(got.list) != 0 {
			t.Errorf("%s: %d, %v", what, len(got.list), err)
		}
	}
}
