// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/sockdiag"
)

// connectedOver returns both ends of a connection over a path.
func connectedOver(t *testing.T, from, to string) (client, server sessions.SocketID) {
	t.Helper()
	l, err := net.Listen("unix", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := (&net.Dialer{LocalAddr: &net.UnixAddr{Name: from, Net: "unix"}}).Dial("unix", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return socketOf(t, c), socketOf(t, s)
}

func socketOf(t *testing.T, c net.Conn) sessions.SocketID {
	t.Helper()
	f, err := c.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var about unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &about); err != nil {
		t.Fatal(err)
	}
	return sessions.SocketID(about.Ino)
}

// The end of a server has a name; clients of D-Bus have one, too.
func TestTheEndOfAServerIsToldFromThatOfAClient(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		from, to         string
		client, accepted bool
	}{
		"a path":                     {"", dir + "/a", false, true},
		"an abstract name":           {"", "@" + dir + "/b", false, true},
		"a client with a name":       {"@" + dir + "/c", dir + "/d", false, true},
		"both ends of abstract ones": {"@" + dir + "/e", "@" + dir + "/f", false, false},
	} {
		client, server := connectedOver(t, c.from, c.to)
		found, err := new(reading).Unix(t.Context(), []sessions.SocketID{client, server, 1<<32 - 1})
		if err != nil || len(found) != 2 {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		for _, k := range found {
			want := sessions.Socket{ID: client, Protocol: "unix", Peer: server, Accepted: c.client, UID: -1}
			if k.ID == server {
				want = sessions.Socket{ID: server, Protocol: "unix", Peer: client, Accepted: c.accepted, UID: -1}
			}
			if k != want {
				t.Errorf("%s: %+v, want %+v", name, k, want)
			}
		}
	}
}

// Where there are too many to be read, which takes seconds, that is found out once.
func TestUnixSocketsAreReadOnceInARun(t *testing.T) {
	client, _ := connectedOver(t, "", filepath.Join(t.TempDir(), "s"))
	r := reading{unixRead: true, unixErr: sockdiag.ErrManyUnix}
	found, err := r.Unix(t.Context(), []sessions.SocketID{client})
	if _, skipped := errors.AsType[*sessions.SkippedError](err); !skipped || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	r = reading{}
	for _, ctx := range []context.Context{stopped, t.Context()} {
		if found, err := r.Unix(ctx, []sessions.SocketID{client}); !errors.Is(err, context.Canceled) || len(found) != 0 {
			t.Errorf("%+v, %v", found, err)
		}
	}
}
