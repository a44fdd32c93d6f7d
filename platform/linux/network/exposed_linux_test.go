// SPDX-License-Identifier: Apache-2.0

package network

import (
	"maps"
	"net"
	"os"
	"testing"

	"sentinel/internal/network"
	"sentinel/internal/testenv"
)

// A device and a setting of the kernel decide what others reach, and not the address alone.
func TestWhatOthersReachGoesByDeviceAndRoutes(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for address, config := range map[string]*net.ListenConfig{"127.0.0.1:7001": {}, "0.0.0.0:7002": testenv.BoundTo("lo"), "0.0.0.0:7003": {}, "[::1]:7004": {}} {
		l, err := config.Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	exposed := func() map[uint16]bool {
		found := map[uint16]bool{}
		if err := New("/").Sockets(t.Context(), func(s network.Socket) { found[s.Local.Port()] = s.Exposed() }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	want := map[uint16]bool{7001: false, 7002: false, 7003: true, 7004: false}
	if got := exposed(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/route_localnet", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	want[7001] = true
	if got := exposed(); !maps.Equal(got, want) {
		t.Errorf("with route_localnet: %v, want %v", got, want)
	}
}
