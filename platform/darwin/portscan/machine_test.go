// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/sysexec/replay"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/portscan"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

const interfaces = `lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384
	inet 127.0.0.1 netmask 0xff000000
	inet6 ::1 prefixlen 128
	inet6 fe80::1%lo0 prefixlen 64 scopeid 0x1
en0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500
	ether 00:00:5e:00:53:01
	inet 192.0.2.7 netmask 0xffffff00 broadcast 192.0.2.255
	inet6 2001:db8::7 prefixlen 64 autoconf
en5: flags=8822<BROADCAST,SMART,SIMPLEX,MULTICAST> mtu 1500
	inet 198.51.100.7 netmask 0xffffff00 broadcast 198.51.100.255
utun0: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1380
	inet 203.0.113.7 --> 203.0.113.7 netmask 0xffffffff
`

func TestNetworksAreThoseThatAreUp(t *testing.T) {
	o := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(interfaces)}}}
	got, err := NewMachine(o, 501).Networks(t.Context())
	want := []netip.Prefix{}
	for _, p := range []string{"127.0.0.1/8", "::1/128", "fe80::1/64", "192.0.2.7/24", "2001:db8::7/64", "203.0.113.7/32"} {
		want = append(want, netip.MustParsePrefix(p))
	}
	if err != nil || !slices.Equal(got, want) || !slices.Equal(o.Ran, []string{"/sbin/ifconfig -a"}) {
		t.Errorf("%v, %v after %q", got, err, o.Ran)
	}
	for name, o := range map[string]*replay.Sequence{"hangs": {Err: errors.New("x")}, "fails": {Results: []sysexec.Result{{Exit: 1}}}, "says nothing": {Results: []sysexec.Result{{}}}} {
		if got, err := NewMachine(o, 0).Networks(t.Context()); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Every recorded interface list is one that a scan can be judged by: loopback is
// on each.
func TestRecordedInterfaces(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "ifconfig") {
		got, err := NewMachine(&replay.Sequence{Results: []sysexec.Result{{Stdout: r.Raw}}}, 0).Networks(t.Context())
		if err != nil {
			continue
		}
		for _, p := range got {
			if !p.IsValid() || p.Addr().Zone() != "" {
				t.Errorf("%s: %v", r.Name, p)
			}
		}
		if strings.HasPrefix(r.Name, "a-") && !slices.Contains(got, netip.MustParsePrefix("127.0.0.1/8")) {
			t.Errorf("%s: %v", r.Name, got)
		}
	}
}

const sockets = `p1
claunchd
f20
tIPv6
d0x1
PTCP
n*:22
TST=LISTEN
p500
cSome App
f5
tIPv4
d0x2
PTCP
n127.0.0.1:8080
TST=LISTEN
f6
tIPv4
d0x3
PTCP
n127.0.0.1:8080->127.0.0.1:50001
TST=ESTABLISHED
f7
tIPv4
d0x4
PUDP
n*:8080
`

func TestListeners(t *testing.T) {
	for euid, partly := range map[int]bool{0: false, 501: true} {
		o := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(sockets)}}}
		got, denied, err := NewMachine(o, euid).Listeners(t.Context(), []uint16{22, 443, 8080})
		want := []portscan.Listener{
			{Address: netip.MustParseAddrPort("[::]:22"), Exposed: true, PID: 1, Name: "launchd"},
			{Address: netip.MustParseAddrPort("127.0.0.1:8080"), PID: 500, Name: "Some App"},
		}
		if err != nil || denied != partly || len(o.Ran) != 1 || !cmp.Equal(got, want, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })) {
			t.Errorf("user %d: %+v, denied %t, %v after %q", euid, got, denied, err, o.Ran)
		}
	}
	if _, denied, err := NewMachine(&replay.Sequence{Err: errors.New("x")}, 501).Listeners(t.Context(), []uint16{22}); err == nil || !denied {
		t.Errorf("%t, %v", denied, err)
	}
}
