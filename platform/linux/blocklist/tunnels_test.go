// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
)

// The kernel's own tunnels, whoever comes through them.
func TestFarEndsOfKernelTunnelsAreProtected(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add d0 type veth peer name p0", "ip link set d0 up", "ip link set p0 up", "ip addr add 192.0.2.1/24 dev d0",
		"ip link add vx0 type vxlan id 5 remote 192.0.2.9 dstport 4789", "ip link add vx1 type vxlan id 6 remote 2001:db8::9 dstport 4790",
		"ip link add vx2 type vxlan id 7 dstport 4791 local 192.0.2.1", "bridge fdb append 00:00:00:00:00:00 dev vx2 dst 192.0.2.8",
	} {
		run(t, command)
	}
	found := protectedBelow(t, "/")
	for end, tunnel := range map[string]string{"192.0.2.9/32": "vx0", "2001:db8::9/128": "vx1", "192.0.2.8/32": "vx2"} {
		if want := "the other end of the tunnel " + tunnel; found[end] != want {
			t.Errorf("%s is %q, want %q", end, found[end], want)
		}
	}
	// Without an end, any address may be the one that a session depends on.
	run(t, "bridge fdb del 00:00:00:00:00:00 dev vx2 dst 192.0.2.8")
	run(t, "ip addr add 198.51.100.1/24 dev vx2")
	run(t, "ip link set vx2 up")
	for _, o := range []blocklist.Session{between("198.51.100.1", "203.0.113.1"), between("192.0.2.1", "198.51.100.2")} {
		list, err := NewHostContext("/").tunnelEnds(t.Context(), []blocklist.Session{o})
		if err == nil || !strings.Contains(err.Error(), "the other end of the tunnel vx2 is not known") || len(list) != 2 {
			t.Errorf("%v: %v, %v", o, list, err)
		}
	}
	if _, err := NewHostContext("/").tunnelEnds(t.Context(), []blocklist.Session{between("192.0.2.1", "192.0.2.7")}); err != nil {
		t.Errorf("beside the tunnel: %v", err)
	}
}

func between(local, remote string) blocklist.Session {
	return blocklist.Session{Local: netip.MustParseAddr(local), Remote: netip.MustParseAddr(remote)}
}

// openTUN makes an interface that this process carries the packets of.
func openTUN(t *testing.T, name string) {
	t.Helper()
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	testenv.Need(t, err == nil, tunDevice)
	t.Cleanup(func() { unix.Close(fd) })
	request, err := unix.NewIfreq(name)
	must(t, err)
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(request))); e != 0 {
		t.Fatal(e)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A session that comes out of a program's tunnel depends on those with whom the
// program talks. Where that is not seen, it depends on anybody.
func TestFarEndsOfAProgramsTunnelAreProtected(t *testing.T) {
	testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{"ip link add d0 type veth peer name p0", "ip link set d0 up", "ip link set p0 up", "ip addr add 192.0.2.1/24 dev d0"} {
		run(t, command)
	}
	openTUN(t, "tun7")
	run(t, "ip addr add 198.51.100.1/24 dev tun7")
	run(t, "ip link set tun7 up")
	through := []blocklist.Session{between("198.51.100.1", "198.51.100.2")}
	carriers := func(open []blocklist.Session) ([]string, error) {
		list, err := NewHostContext("/").tunnelEnds(t.Context(), open)
		var all []string
		for _, v := range list {
			all = append(all, v.Prefix.Addr().String())
		}
		slices.Sort(all)
		return all, err
	}
	if got, err := carriers(nil); err != nil || len(got) != 0 {
		t.Errorf("without a session: %v, %v", got, err)
	}
	if got, err := carriers(through); err == nil || !strings.Contains(err.Error(), "with whom its program talks is not seen") {
		t.Errorf("without sockets: %v, %v", got, err)
	}
	connected, err := net.Dial("udp", "192.0.2.9:1194")
	must(t, err)
	t.Cleanup(func() { connected.Close() })
	if got, err := carriers(through); err != nil || !slices.Equal(got, []string{"192.0.2.9"}) {
		t.Errorf("connected: %v, %v", got, err)
	}
	server, err := net.ListenPacket("udp", "192.0.2.1:1194")
	must(t, err)
	t.Cleanup(func() { server.Close() })
	if got, err := carriers(through); err == nil || !slices.Equal(got, []string{"192.0.2.9"}) {
		t.Errorf("a server whose peers are not seen: %v, %v", got, err)
	}
	run(t, "conntrack -I -p udp -s 192.0.2.66 -d 192.0.2.1 --sport 5000 --dport 1194 -t 60")
	if got, err := carriers(through); err == nil {
		t.Errorf("a flow that nobody answered: %v", got)
	}
	run(t, "conntrack -I -p udp -s 192.0.2.7 -d 192.0.2.1 --sport 5000 --dport 1194 -t 60 -u SEEN_REPLY")
	run(t, "conntrack -I -p udp -s 192.0.2.67 -d 192.0.2.1 --sport 5000 --dport 53 -t 60 -u SEEN_REPLY")
	if got, err := carriers(through); err != nil || !slices.Equal(got, []string{"192.0.2.7", "192.0.2.9"}) {
		t.Errorf("a server: %v, %v", got, err)
	}
}

func message(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	must(t, err)
	return b
}

func TestWireGuardPeersAreParsed(t *testing.T) {
	const four, six = "14000400 0200 1234 c0000209 0000000000000000", "20000400 0a00 1234 00000000 20010db8000000000000000000000009 00000000"
	for text, want := range map[string]string{
		"00010000":                                             "",
		"00010000 1c000880 18000080" + four:                    "192.0.2.9",
		"00010000 28000880 24000080" + six:                     "2001:db8::9",
		"00010000 40000880 18000080" + four + "24000080" + six: "192.0.2.9 2001:db8::9",
		"00010000 10000880 0c000080 08000500 19000000":         "",
		"0001": "error", "00010000 14000880 10000080 0c000400 0700 1234 c0000209": "error",
	} {
		found, err := parseWireGuard(message(t, text))
		var all []string
		for _, a := range found {
			all = append(all, a.String())
		}
		if got := strings.Join(all, " "); (err != nil) != (want == "error") || err == nil && got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzTunnelMessages(f *testing.F) {
	f.Add([]byte("0000000000000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if found, err := parseWireGuard(b); err == nil && slices.ContainsFunc(found, func(a netip.Addr) bool { return !a.IsValid() }) {
			t.Errorf("%v", found)
		}
	})
}
