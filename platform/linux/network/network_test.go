// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/network"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/sockdiag"
)

const hosts = "../../../testdata/hosts/"

func rows(t *testing.T, s *Source) []string {
	t.Helper()
	var list []string
	if err := s.Sockets(t.Context(), func(k network.Socket) {
		list = append(list, fmt.Sprintf("%s %s %s > %s #%d of %d", k.Protocol, k.State, k.Local, k.Remote, k.ID, k.UID))
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSocketsOfALaptop(t *testing.T) {
	want := []string{
		"tcp LISTEN 0.0.0.0:22 > 0.0.0.0:0 #20602 of 0",
		"tcp LISTEN 127.0.0.1:631 > 0.0.0.0:0 #21018 of 0",
		"tcp ESTABLISHED 192.0.2.23:43122 > 203.0.113.80:443 #40112 of 1000",
		"tcp ESTABLISHED 192.0.2.23:43140 > 198.51.100.10:443 #40113 of 1000",
		"tcp ESTABLISHED 192.0.2.23:50220 > 198.51.100.33:3306 #40120 of 1000",
		"tcp TIME_WAIT 192.0.2.23:43099 > 203.0.113.80:443 #0 of 0",
		"tcp CLOSE_WAIT 192.0.2.23:43160 > 203.0.113.81:80 #40114 of 1000",
		"tcp LISTEN [::]:22 > [::]:0 #20603 of 0",
		"tcp LISTEN [::1]:631 > [::]:0 #21019 of 0",
		"tcp ESTABLISHED [2001:db8:12::23]:51514 > [2001:db8:ffff::80]:443 #40115 of 1000",
		"tcp ESTABLISHED 127.0.0.1:5900 > 127.0.0.1:40100 #0 of 1000",
		"udp ESTABLISHED 192.0.2.23:68 > 192.0.2.1:67 #20411 of 0",
		"udp LISTEN 0.0.0.0:5353 > 0.0.0.0:0 #20800 of 109",
		"udp LISTEN [::]:5353 > [::]:0 #20801 of 109",
	}
	if diff := cmp.Diff(want, rows(t, New(hosts+"laptop"))); diff != "" {
		t.Error(diff)
	}
}

func TestEveryKernelStateHasAName(t *testing.T) {
	want := map[uint8]network.State{
		1: network.Established, 2: network.SynSent, 3: network.SynReceived, 4: network.FinWait1, 5: network.FinWait2, 6: network.TimeWait,
		7: network.Closed, 8: network.CloseWait, 9: network.LastAck, 10: network.Listen, 11: network.Closing, 12: network.SynReceived,
	}
	for state := range 256 {
		name, ok := want[uint8(state)]
		if !ok {
			name = network.Closed
		}
		if got := stateOf(network.TCP, uint8(state)); got != name {
			t.Errorf("tcp %d: %s, want %s", state, got, name)
		}
		if state == 7 {
			name = network.Listen
		}
		for _, protocol := range []network.Protocol{network.UDP, network.UDPLite} {
			if got := stateOf(protocol, uint8(state)); got != name {
				t.Errorf("%s %d: %s, want %s", protocol, state, got, name)
			}
		}
	}
}

// kernel returns a dump function that yields the given sockets and then err, for each protocol.
func kernel(err error, list ...sockdiag.Socket) func(context.Context, uint8, func(sockdiag.Socket)) error {
	return func(_ context.Context, _ uint8, visit func(sockdiag.Socket)) error {
		for _, s := range list {
			visit(s)
		}
		return err
	}
}

var one = sockdiag.Socket{Local: netip.MustParseAddrPort("192.0.2.1:1"), Remote: netip.MustParseAddrPort("192.0.2.2:2"), State: 1, Inode: 5}

func TestProcNetStandsInWhereSockDiagIsForbidden(t *testing.T) {
	s := New(hosts + "laptop")
	s.dump = kernel(unix.EPERM)
	if got, want := rows(t, s), rows(t, New(hosts+"laptop")); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestHalfADumpIsNotFilledUpFromProcNet(t *testing.T) {
	s := New(hosts + "laptop")
	s.dump = kernel(unix.EIO, one)
	count := 0
	if err := s.Sockets(t.Context(), func(network.Socket) { count++ }); !errors.Is(err, unix.EIO) || count != 1 {
		t.Errorf("%d sockets, %v", count, err)
	}
}

func TestCallerThatLeftGetsNoSecondTry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := New(hosts + "laptop")
	s.dump = kernel(context.Canceled)
	if err := s.Sockets(ctx, func(k network.Socket) { t.Errorf("a socket: %v", k) }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMachineWithoutSocketsIsNotAskedTwice(t *testing.T) {
	s := New(hosts + "laptop")
	s.dump = kernel(nil)
	if got := rows(t, s); got != nil {
		t.Errorf("got %q", got)
	}
}

// Whoever has many IDs is one user all the same.
func TestSocketsBelongToTheUserOfTheirID(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"etc/passwd": "eve:x:1001:1001::/:/bin/sh\n", "etc/subuid": "eve:100000:65536\n"})
	s := New(root)
	var list []sockdiag.Socket
	for _, uid := range []int{0, 33, 1001, 100000, 165535, 165536} {
		of := one
		of.UID = uid
		list = append(list, of)
	}
	s.dump = kernel(nil, list...)
	var got []int
	if err := s.Sockets(t.Context(), func(k network.Socket) {
		if got = append(got, k.UID); k.System != (k.UID < 1000) {
			t.Errorf("%d is an account of the system: %v", k.UID, k.System)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := []int{0, 33, 1001, 1001, 1001, 165536}
	if !slices.Equal(got, slices.Concat(want, want, want)) { // TCP, UDP and UDP-Lite
		t.Errorf("users %d", got)
	}
}

func TestAddressesAreUnmappedAndZonesNamed(t *testing.T) {
	first, err := net.InterfaceByIndex(1)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"[::ffff:192.0.2.1]:80":    "192.0.2.1:80",
		"192.0.2.1:80":             "192.0.2.1:80",
		"[2001:db8::1]:80":         "[2001:db8::1]:80",
		"[fe80::1%1]:80":           "[fe80::1%" + first.Name + "]:80",
		"[fe80::1%99999]:80":       "[fe80::1%99999]:80",
		"[fe80::1%not-a-number]:0": "[fe80::1%not-a-number]:0",
	} {
		if got := (interfaces{}).unmapped(netip.MustParseAddrPort(text)).String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	names := interfaces{"1": "told"} // and so not asked for again
	if got := names.unmapped(netip.MustParseAddrPort("[fe80::1%1]:80")).String(); got != "[fe80::1%told]:80" {
		t.Error(got)
	}
}

func TestOwnersOfFixtureSocketsAreNamed(t *testing.T) {
	got, denied, err := New(hosts+"laptop").Owners(t.Context(), []network.Socket{{ID: 40112}, {ID: 40120}, {ID: 20602}, {ID: 5}, {}})
	want := map[uint64]network.Owner{40112: {PID: 2107, Name: "firefox-esr"}, 40120: {PID: 2354, Name: "mysqldump"}, 20602: {PID: 802, Name: "sshd"}}
	if diff := cmp.Diff(want, got); diff != "" || denied || err != nil {
		t.Errorf("denied %v, %v\n%s", denied, err, diff)
	}
}

// write creates files, or links if the content says so, below a new root.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Anybody leaves a socket with a message bus, which has a low PID: what a user made is the user's where they hold it, too.
func TestWhoMadeASocketOwnsItBeforeWhoHoldsIt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	files, users := map[string]string{"proc/1/stat": ""}, map[int]int{33: 101, 61: 1500, 70: 1501}
	for pid, uid := range users {
		files[fmt.Sprintf("proc/%d/fd/3", pid)] = "-> socket:[7]"
		files[fmt.Sprintf("proc/%d/stat", pid)] = fmt.Sprintf("%d (of%d) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 0 100 0\n", pid, uid)
	}
	root := write(t, files)
	for pid, uid := range users {
		if err := os.Chown(filepath.Join(root, "proc", strconv.Itoa(pid)), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	for maker, want := range map[int]network.Owner{0: {PID: 33, Name: "of101"}, 101: {PID: 33, Name: "of101"}, 1500: {PID: 61, Name: "of1500"}, 1501: {PID: 70, Name: "of1501"}, 1502: {PID: 33, Name: "of101"}} {
		got, _, err := New(root).Owners(t.Context(), []network.Socket{{ID: 7, UID: maker}})
		if err != nil || got[7] != want {
			t.Errorf("made by %d: %+v, %v; want %+v", maker, got[7], err, want)
		}
	}
}

func TestOwnerThatEndedHidesNoOther(t *testing.T) {
	files := map[string]string{"proc/1/fd/3": "-> socket:[1]"}
	for pid := 10; pid < 20; pid++ {
		files[fmt.Sprintf("proc/%d/fd/3", pid)] = fmt.Sprintf("-> socket:[%d]", pid)
	}
	files["proc/15/stat"] = "15 (left) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 0 100 0\n"
	list := []network.Socket{{ID: 1}}
	for id := range uint64(10) {
		list = append(list, network.Socket{ID: 10 + id})
	}
	got, _, err := New(write(t, files)).Owners(t.Context(), list)
	if diff := cmp.Diff(map[uint64]network.Owner{15: {PID: 15, Name: "left"}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestLoopbackIsKnownByItsTypeAndElseByItsName(t *testing.T) {
	root := write(t, map[string]string{"sys/class/net/looks/type": "772\n", "sys/class/net/lo/type": "1\n", "sys/class/net/eth0/type": "1\n"})
	for name, want := range map[string]bool{"looks": true, "lo": false, "eth0": false, "unknown": false, "../lo": false} {
		if got := New(root).loopback(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !New(t.TempDir()).loopback("lo") {
		t.Error("lo is not loopback where /sys does not know it")
	}
}

func TestInterfacesOfFixtureMachines(t *testing.T) {
	for host, want := range map[string][]string{
		"laptop":      {"lo loopback", "enp0s31f6", "wlp2s0"},
		"vm":          {"lo loopback", "ens3"},
		"container":   {"lo loopback", "eth0"},
		"raspberrypi": {"lo loopback", "eth0", "wlan0"},
	} {
		list, err := New(hosts + host).Interfaces(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range list {
			name := i.Name
			if i.Loopback {
				name += " loopback"
			}
			got = append(got, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
	if list, err := New(t.TempDir()).Interfaces(t.Context()); err == nil {
		t.Errorf("no /proc: %v", list)
	}
}
