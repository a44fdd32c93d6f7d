// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

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
		raw := path
		if name[0] == '@' {
			raw = "\x00" + path
		}
		got := map[uint64]UnixSocket{}
		asked := []uint64{client, server, inode(t, l.(*net.UnixListener)), 1<<32 - 1, 1 << 40}
		if err := Unix(t.Context(), asked, func(s UnixSocket) { got[s.Inode] = s }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[client] != (UnixSocket{client, server, ""}) || got[server].Peer != client || plainName(got[server].Name) != raw {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// plainName is a path without the zero byte that the kernel tells of it.
func plainName(name string) string {
	if len(name) > 0 && name[len(name)-1] == 0 {
		return name[:len(name)-1]
	}
	return name
}

func TestUnixStopsWhenItsCallerDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Unix(ctx, []uint64{1}, func(UnixSocket) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
