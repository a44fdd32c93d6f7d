// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
)

// sent is how many bytes go over the connection.
const sent = 5000

// All paths of an MPTCP connection have one inode, and each is a connection with another address.
func TestAllPathsOfAConnectionAreRead(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{"ip mptcp limits set subflow 2 add_addr_accepted 2", "ip mptcp endpoint add 127.0.0.2 dev lo subflow"} {
		words := strings.Fields(command)
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		testenv.Need(t, err == nil, "MPTCP: "+string(out))
	}
	port := multipath(t)
	r := &reading{Reader: New("/"), own: map[netip.Addr]bool{}}
	testenv.WaitFor(t, "the second path", func() bool {
		r.sockets, r.paths = nil, nil
		list, err := sockets(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.keep(list)
		return len(r.from(t, port)) == 2
	})
	from := r.from(t, port)
	for _, want := range []string{"127.0.0.1", "127.0.0.2"} {
		if from[netip.MustParseAddr(want)].ID == 0 {
			t.Errorf("no path from %s: %v", want, from)
		}
	}
	traffic, err := r.Traffic(t.Context())
	var paths []sessions.Socket
	var received uint64
	for _, k := range from {
		paths = append(paths, k)
		told, ok := traffic[k.ID]
		if received += told.Received; !ok {
			t.Errorf("what %s has moved is not told", k.Remote)
		}
	}
	if err != nil || received < sent {
		t.Errorf("received %d, %v", received, err)
	}
	holders, err := r.Holders(t.Context(), paths)
	for _, k := range paths {
		if err != nil || !slices.Contains(holders[k.ID], os.Getpid()) {
			t.Errorf("holders of %s: %v, %v", k.Remote, holders[k.ID], err)
		}
	}
}

// from are the sockets that this run has open at a port, by whom they are connected with.
func (r *reading) from(t *testing.T, port uint16) map[netip.Addr]sessions.Socket {
	files, err := r.proc.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	r.files = files
	open, err := r.Open(t.Context(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	found := map[netip.Addr]sessions.Socket{}
	for _, k := range r.sockets {
		if slices.Contains(open.Sockets, k.ID) && k.Local.Port() == port && !k.Listening {
			found[k.Remote.Addr()] = k
		}
	}
	return found
}

// multipath has this run connected with itself over MPTCP, and send something, and returns the server's port.
func multipath(t *testing.T) uint16 {
	var with net.ListenConfig
	with.SetMultipathTCP(true)
	l, err := with.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dialer := net.Dialer{}
	dialer.SetMultipathTCP(true)
	client, err := dialer.DialContext(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	multipath, err := client.(*net.TCPConn).MultipathTCP()
	testenv.Need(t, multipath && err == nil, "MPTCP")
	if _, err := client.Write(make([]byte, sent)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, make([]byte, sent)); err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(l.Addr().String()).Port()
}
