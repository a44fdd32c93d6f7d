// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/network"
	"sentinel/internal/testenv"
)

// What stays on this machine is told by the addresses of its interfaces. Anybody may bind a socket to the
// address of somebody else, which makes that none of ours.
func TestConnectionsThatStayHereAreTold(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{"addr add 192.0.2.1/32 dev lo", "route add default dev lo"} {
		if out, err := exec.Command(testenv.Program(t, "ip", "iproute2"), strings.Fields(command)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v, %s", command, err, out)
		}
	}
	claimed := net.ListenConfig{Control: freebind}
	taken, err := claimed.ListenPacket(t.Context(), "udp4", "203.0.113.7:9")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	want := map[netip.AddrPort]bool{}
	for remote, stays := range map[string]bool{"192.0.2.1:9": true, "127.0.0.2:9": true, "203.0.113.7:9": false} {
		c, err := net.Dial("udp4", remote)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		want[netip.MustParseAddrPort(remote)] = stays
	}
	withoutDiag := New("/")
	withoutDiag.dump = nil
	for how, s := range map[string]*Source{"sock_diag": New("/"), "/proc/net": withoutDiag} {
		got := map[netip.AddrPort]bool{}
		if err := s.Sockets(t.Context(), func(k network.Socket) {
			if k.State == network.Established {
				got[k.Remote] = k.Internal
			}
		}); err != nil {
			t.Fatal(err)
		}
		for remote, stays := range want {
			if is, seen := got[remote]; !seen || is != stays {
				t.Errorf("%s, %s: seen %v, internal %v", how, remote, seen, is)
			}
		}
	}
	blind := New("/")
	blind.addresses = func() ([]netip.Addr, error) { return nil, errors.New("no netlink") }
	if err := blind.Sockets(t.Context(), func(k network.Socket) {
		if k.State == network.Established && k.Internal != k.Remote.Addr().IsLoopback() {
			t.Errorf("without addresses: %+v", k)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

func freebind(_, _ string, c syscall.RawConn) (err error) {
	failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1) })
	return errors.Join(failed, err)
}
