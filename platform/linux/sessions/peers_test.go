// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/conntrack"
)

// However many sessions are over UDP, the flows of the machine are gone through once, and so where that fails.
func TestFlowsAreReadOnceForAllSessions(t *testing.T) {
	refused := errors.New("not permitted")
	host := netip.MustParseAddr("203.0.113.9")
	for _, fails := range []error{nil, refused} {
		asked := [][]uint16{}
		r := &reading{flows: func(_ context.Context, ports []uint16) (conntrack.Table, error) {
			asked = append(asked, ports)
			table := conntrack.Table{}
			for _, port := range ports {
				table[port] = []conntrack.Peer{{Port: port, Address: host, Came: true}}
			}
			return table, fails
		}}
		want := []uint16{}
		for port := range uint16(500) {
			local := netip.AddrPortFrom(netip.IPv4Unspecified(), 60_000+port)
			want = append(want, local.Port())
			r.sockets = append(r.sockets, sessions.Socket{Protocol: "udp", Local: local},
				sessions.Socket{Protocol: "udp", Local: netip.AddrPortFrom(host, 1), Remote: local}, sessions.Socket{Protocol: "tcp", Local: local, Listening: true})
		}
		for _, port := range want {
			list, err := r.Peers(t.Context(), []uint16{port})
			found := slices.Equal(list, []sessions.Peer{{Port: port, Address: host, Came: true}})
			if !errors.Is(err, fails) || found != (fails == nil) {
				t.Fatalf("port %d: %v, %v", port, list, err)
			}
		}
		if len(asked) != 1 || !slices.Equal(asked[0], want) {
			t.Errorf("the flows were read %d times: %v", len(asked), asked[:min(2, len(asked))])
		}
	}
}

// Behind a proxy that reaches the server at an address which is routed to this machine, all sessions are looked for
// at once: for each it takes the files of all processes.
func TestHoldersOfAllSessionsAreLookedForAtOnce(t *testing.T) {
	routed, server := netip.MustParseAddr("198.51.100.5"), netip.MustParseAddrPort("[::ffff:198.51.100.6]:22")
	r := &reading{Reader: New("/")}
	for n := range uint16(500) {
		near := netip.AddrPortFrom(routed, 20_000+n)
		id := sessions.SocketID(n) + 1<<40 // which no process has
		r.sockets = append(r.sockets, sessions.Socket{ID: id, Protocol: "tcp", Local: near, Remote: plain(server), Established: true},
			sessions.Socket{ID: id + 1000, Protocol: "tcp", Local: server, Remote: near, Established: true},
			sessions.Socket{ID: id + 2000, Protocol: "tcp", Local: server, Remote: netip.AddrPortFrom(routed, 40_000+n), Established: true})
	}
	if _, err := r.Holders(t.Context(), r.sockets[:1]); err != nil {
		t.Log(err) // of processes that this account may not look at
	}
	for _, k := range r.sockets {
		if want := k.ID < 1<<40+2000; r.wanted[uint64(k.ID)] != want {
			t.Fatalf("from %v to %v: looked for %v, want %v", k.Local, k.Remote, !want, want)
		}
	}
}
