// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
	"sentinel/internal/reach"
	"sentinel/internal/testenv"
)

// Rules for UDP say nothing of UDP-Lite. Each row has a port of its own, to which another host sends.
func TestRulesAreHeldAgainstUDPLite(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 1)
	run(t, commands("nft add table inet f; nft add chain inet f in { type filter hook input priority 0 ; policy drop ; }; nft add rule inet f in udp dport 51 accept; nft add rule inet f in meta l4proto { udp, tcp } th dport 52 accept; nft add rule inet f in meta l4proto udplite th dport 53 accept"))
	run(t, commands("iptables-nft -A INPUT -p udp -m udp --dport 1:65535 -j ACCEPT"))
	want := map[int]reach.Answer{51: reach.Filtered, 52: reach.Filtered, 53: reach.Reachable}
	sockets := map[int]int{}
	for port, answer := range want {
		sockets[port] = testenv.UDPLite(t)
		if err := unix.Bind(sockets[port], &unix.SockaddrInet4{Port: port}); err != nil {
			t.Fatal(err)
		}
		if v := judged(t, "udplite", "0.0.0.0:"+strconv.Itoa(port)); v.Answer != answer {
			t.Errorf("port %d: %+v, want %s", port, v, answer)
		}
	}
	h.do(func() {
		from := testenv.UDPLite(t)
		for _, port := range []int{51, 52, 53} { // in order: when the last has come, those before it have not
			if err := unix.Sendto(from, []byte("x"), 0, &unix.SockaddrInet4{Port: port, Addr: [4]byte{192, 0, 2, 5}}); err != nil {
				t.Error(err)
			}
		}
	})
	buffer := make([]byte, 8)
	testenv.WaitFor(t, "what is let in comes", func() bool {
		n, _, err := unix.Recvfrom(sockets[53], buffer, unix.MSG_DONTWAIT)
		return err == nil && n == 1
	})
	for _, port := range []int{51, 52} {
		if _, _, err := unix.Recvfrom(sockets[port], buffer, unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("port %d: %v", port, err)
		}
	}
}

// Ports without a protocol are those of TCP and UDP, for ufw(8).
func TestPortsOfNoProtocolAreNotOfUDPLite(t *testing.T) {
	list := parseSpans("22")
	for protocol, want := range map[string]bool{"tcp": true, "udp": true, "udplite": false} {
		if got := list.has(firewall.Port{Number: 22, Protocol: protocol}); got != want {
			t.Errorf("%s: %v", protocol, got)
		}
	}
}
