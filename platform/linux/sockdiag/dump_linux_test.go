// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// The kernel reports the same sockets through sock_diag and in /proc/net.
func TestDumpShowsTheSocketsOfProcNet(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--net") {
		return
	}
	loopback(t)
	open := sockets(t)
	for protocol, tables := range map[uint8][]string{unix.IPPROTO_TCP: {"tcp", "tcp6"}, unix.IPPROTO_UDP: {"udp", "udp6"}} {
		got, want := []string{}, []string{}
		if err := Dump(t.Context(), protocol, func(s Socket) {
			got = append(got, row(s.Local, s.Remote, s.State, s.Inode))
		}); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			if err := procfs.New("/").Sockets(table, func(s procfs.Socket) {
				want = append(want, row(s.Local, s.Remote, s.State, s.Inode))
			}); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("protocol %d\n sock_diag:\n%s\n /proc/net:\n%s", protocol, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, piece := range open[protocol] {
			if !strings.Contains(strings.Join(got, "\n"), piece) {
				t.Errorf("protocol %d: no socket %q in\n%s", protocol, piece, strings.Join(got, "\n"))
			}
		}
	}
}

// row leaves out the zone, which /proc/net does not have.
func row(local, remote netip.AddrPort, state uint8, inode uint64) string {
	plain := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
	}
	return fmt.Sprintf("%s > %s in %d, %d", plain(local), plain(remote), state, inode)
}

func loopback(t *testing.T) {
	t.Helper()
	ip := testenv.Program(t, "ip", "iproute2")
	for _, args := range []string{"link set lo up", "addr add fe80::53/64 dev lo nodad", "addr add 2001:db8::53/128 dev lo nodad"} {
		if out, err := exec.Command(ip, strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	for _, address := range []string{"[fe80::53%lo]:0", "[2001:db8::53]:0"} {
		reachable(t, address)
	}
}

// reachable waits until a packet to a new address arrives: the kernel adds its routes one by one,
// shortly after "ip" has ended.
func reachable(t *testing.T, address string) {
	t.Helper()
	testenv.WaitFor(t, address, func() bool { return arrives(t, address) == nil })
}

// arrives sends a packet to this process, and waits a moment for it.
func arrives(t *testing.T, address string) error {
	t.Helper()
	p, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	defer p.Close()
	c, err := net.Dial("udp", p.LocalAddr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	if err := p.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	_, _, err = p.ReadFrom(make([]byte, 1))
	return err
}

// sockets opens one socket of each kind, and returns the expected rows by protocol.
func sockets(t *testing.T) map[uint8][]string {
	t.Helper()
	listeners := map[string]net.Listener{}
	for _, address := range []string{"127.0.0.1:7001", "[::1]:7002", "[::]:7003", "[fe80::53%lo]:7004", "[2001:db8::53]:7005"} {
		l, err := net.Listen("tcp", address)
		keep(t, l, err)
		listeners[address] = l
	}
	pair(t, listeners["127.0.0.1:7001"], "127.0.0.1:7001")
	pair(t, listeners["[2001:db8::53]:7005"], "[2001:db8::53]:7005")
	half, other := pair(t, listeners["[::]:7003"], "127.0.0.1:7003")
	half.CloseWrite() // FIN_WAIT_2 here, as soon as it is acknowledged, and CLOSE_WAIT there
	exchange(t, other, half)
	first, second := pair(t, listeners["[::1]:7002"], "[::1]:7002")
	first.Close() // TIME_WAIT, once the other end has closed too
	second.Close()
	bound(t, 7099)
	p, err := net.ListenPacket("udp", "127.0.0.1:7101")
	keep(t, p, err)
	u, err := net.Dial("udp", "[::1]:7102")
	keep(t, u, err)
	return map[uint8][]string{
		unix.IPPROTO_TCP: {
			"127.0.0.1:7001 > 0.0.0.0:0 in 10", "[::1]:7002 > [::]:0 in 10", "[fe80::53]:7004 > [::]:0 in 10", "[2001:db8::53]:7005 > [::]:0 in 10",
			"> 127.0.0.1:7001 in 1", "> [2001:db8::53]:7005 in 1", "> 127.0.0.1:7003 in 5", "in 8,", "in 6, 0",
		},
		unix.IPPROTO_UDP: {"127.0.0.1:7101 > 0.0.0.0:0 in 7", "> [::1]:7102 in 1"},
	}
}

type closer interface{ Close() error }

func keep(t *testing.T, c closer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
}

// pair connects to a listener of this process and returns both ends.
func pair(t *testing.T, l net.Listener, address string) (client, server *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	keep(t, c, err)
	s, err := l.Accept()
	keep(t, s, err)
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// exchange sends a byte, which acknowledges everything before it.
func exchange(t *testing.T, from, to net.Conn) {
	t.Helper()
	if _, err := from.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// bound creates a socket that has a port but neither listens nor connects, which newer kernels
// could list as well.
func bound(t *testing.T, port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
}

func TestDumpStopsWhenItsCallerDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Dump(ctx, unix.IPPROTO_TCP, func(Socket) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestDumpOfAnUnknownProtocolIsAnError(t *testing.T) {
	err := Dump(t.Context(), 253, func(s Socket) { t.Errorf("a socket: %+v", s) })
	if !errors.Is(err, unix.ENOENT) {
		t.Errorf("got %v", err)
	}
}
