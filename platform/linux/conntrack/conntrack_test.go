// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

func TestFlowsAreMatchedByAnyEnd(t *testing.T) {
	address := func(kind byte, a string) []byte { return leaf(kind, netip.MustParseAddr(a).AsSlice()) }
	flow := func(kind byte, ends ...[]byte) []byte {
		return append([]byte{2, 0, 0, 0}, slices.Concat(within(1, within(1, address(1, "203.0.113.1"), address(2, "203.0.113.2"))), within(kind, within(1, ends...)))...)
	}
	blocked := netip.MustParseAddr("192.0.2.1")
	for name, c := range map[string]struct {
		flow []byte
		want bool
	}{
		"reply source":      {flow(2, address(1, "192.0.2.1"), address(2, "203.0.113.1")), true},
		"reply destination": {flow(2, address(1, "203.0.113.2"), address(2, "192.0.2.1")), true},
		"original source":   {append([]byte{2, 0, 0, 0}, within(1, within(1, address(1, "192.0.2.1")))...), true},
		"neither":           {flow(2, address(1, "203.0.113.2"), address(2, "203.0.113.1")), false},
		"another attribute": {flow(3, address(1, "192.0.2.1")), false},
		"cut off":           {flow(2, address(1, "192.0.2.1"))[:40], false},
		"empty":             {nil, false},
	} {
		if got := hasEnd(c.flow, blocked); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func leaf(kind byte, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	return append(append(b, kind, 0), value...)
}

func FuzzFlow(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 16, 0, 1, 0x80, 12, 0, 1, 0x80, 8, 0, 1, 0, 192, 0, 2, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if hasEnd(b, netip.MustParseAddr("192.0.2.1")) && !strings.Contains(string(b), "\xc0\x00\x02\x01") {
			t.Errorf("%x has the address", b)
		}
		if p, ok := peerOfFlow(b, map[uint16]bool{0: true, 1194: true}); ok && !p.Address.IsValid() {
			t.Error("an invalid peer")
		}
	})
}

func within(kind byte, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(content)))
	return append(append(b, kind, 0x80), content...)
}

// Whoever has many hosts talk at one port hides nobody who talks at another.
func TestPeersOfOnePortLeaveThoseOfAnother(t *testing.T) {
	program := testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	var flows strings.Builder
	flow := func(from netip.Addr, port int) {
		fmt.Fprintf(&flows, "-I -p udp -s %s -d 192.0.2.1 --sport 5000 --dport %d -t 600 -u SEEN_REPLY\n", from, port)
	}
	for a, n := netip.MustParseAddr("198.18.0.1"), 0; n < 2*maxPeers; a, n = a.Next(), n+1 {
		flow(a, 1194)
		if n < 20 {
			flow(a, 1195)
		}
	}
	path := testenv.Plant(t, map[string]string{"flows": flows.String()})
	if out, err := exec.Command(program, "-R", path+"/flows").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	table, err := Read(t.Context(), []uint16{1194, 1195})
	if err != nil || len(table) != 2 || len(table[1194]) != maxPeers+1 {
		t.Fatalf("%d ports, %d peers of the first, %v", len(table), len(table[1194]), err)
	}
	for want, ports := range map[int][]uint16{20: {1195, 1195}, maxPeers: {1195, 1194}, 0: {1196}} {
		if list, err := table.Peers(ports); len(list) != want || errors.Is(err, ErrTooManyPeers) != (want == maxPeers) {
			t.Errorf("%v: %d peers, want %d, %v", ports, len(list), want, err)
		}
	}
}

// What is not listed of many is said, and exactly as many as are listed are not too many.
func TestTooManyPeersAreSaid(t *testing.T) {
	program := testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	var flows strings.Builder
	for a, n := netip.MustParseAddr("198.18.0.1"), 0; n < maxPeers; a, n = a.Next(), n+1 {
		fmt.Fprintf(&flows, "-I -p udp -s %s -d 192.0.2.1 --sport 5000 --dport 1194 -t 600 -u SEEN_REPLY\n", a)
	}
	more := "-I -p udp -s 192.0.2.7 -d 192.0.2.1 --sport 5000 --dport 1194 -t 600 -u SEEN_REPLY\n"
	for _, c := range []struct {
		flows string
		want  error
	}{{flows.String(), nil}, {more, ErrTooManyPeers}} {
		path := testenv.Plant(t, map[string]string{"flows": c.flows})
		if out, err := exec.Command(program, "-R", path+"/flows").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if list, err := Peers(t.Context(), []uint16{1194}); len(list) != maxPeers || !errors.Is(err, c.want) {
			t.Errorf("%d peers, %v, want %v", len(list), err, c.want)
		}
		if list, err := Peers(t.Context(), []uint16{1195}); len(list) != 0 || err != nil {
			t.Errorf("another port: %v, %v", list, err)
		}
	}
}
