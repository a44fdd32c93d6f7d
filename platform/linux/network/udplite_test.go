// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/network"
	"sentinel/internal/testenv"
)

// What waits for packets of UDP-Lite, which any user may, is a listener like another.
func TestListenersOfUDPLiteAreSeen(t *testing.T) {
	fd := testenv.UDPLite(t)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(name.(*unix.SockaddrInet4).Port))
	withoutDiag := New("/")
	withoutDiag.dump = nil
	for how, s := range map[string]*Source{"sock_diag": New("/"), "/proc/net": withoutDiag} {
		var found []network.Socket
		if err := s.Sockets(t.Context(), func(k network.Socket) {
			if k.Protocol == network.UDPLite && k.Local == at {
				found = append(found, k)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || found[0].State != network.Listen || found[0].ID == 0 {
			t.Errorf("%s: %+v", how, found)
		}
	}
}
