// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/interfaces"
)

// run runs commands whose words hold no blanks.
func run(t *testing.T, commands ...string) {
	t.Helper()
	testenv.RequireIsolated(t)
	for _, command := range commands {
		words := strings.Fields(command)
		if out, err := exec.Command(testenv.Program(t, words[0], "iproute2 or conntrack"), words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
}

// carried sums up what carries packets between two addresses: one line a tunnel.
func carried(t *testing.T, r *Reader, local, remote string) string {
	t.Helper()
	found, err := r.Carry(t.Context(), between(local, remote))
	if err != nil {
		t.Fatal(err)
	}
	return summary(found)
}

func summary(found []sessions.Tunnel) string {
	var lines []string
	for _, f := range found {
		line := f.Interface + " " + f.Kind
		for _, a := range f.Addresses {
			line += " " + a.String()
		}
		for _, p := range f.Ports {
			line += fmt.Sprintf(" %s/%d", p.Protocol, p.Number)
		}
		if len(f.Processes) > 0 {
			line += fmt.Sprint(" by ", f.Processes)
		}
		if f.Unknown != "" {
			line += ": " + f.Unknown
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func between(local, remote string) sessions.Connection {
	c := sessions.Connection{Remote: netip.MustParseAddr(remote)}
	if local != "" {
		c.Local = netip.MustParseAddr(local)
	}
	return c
}

// cable is a line to a neighbour, with the network 192.0.2.0/24.
var cable = []string{
	"ip link add d0 type veth peer name p0", "ip link set d0 up", "ip link set p0 up", "ip addr add 192.0.2.1/24 dev d0",
	"ip addr add 2001:db8::1/64 dev d0 nodad",
}

func TestKernelTunnelsCarry(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	run(t,
		"ip link add vx0 type vxlan id 5 remote 192.0.2.9 dstport 4789", "ip addr add 198.51.100.1/24 dev vx0", "ip link set vx0 up",
		// Over two others, below a bridge, each to its own hardware address.
		"ip link add vx1 type vxlan id 6 dstport 4790 local 192.0.2.1", "ip link add br0 type bridge", "ip link set vx1 master br0", "ip link set vx1 up",
		"ip link add d1 type veth peer name p1", "ip link set d1 master br0", "ip link set d1 up", "ip link set p1 up",
		"ip addr add 203.0.113.1/24 dev br0", "ip link set br0 up",
		"bridge fdb append 00:00:00:00:00:00 dev vx1 dst 192.0.2.8", "bridge fdb append 02:00:00:00:00:07 dev vx1 dst 192.0.2.7",
		"bridge fdb append 02:00:00:00:00:07 dev vx1 master static",
		"ip neigh add 203.0.113.7 lladdr 02:00:00:00:00:07 dev br0", "ip neigh add 203.0.113.6 lladdr 02:00:00:00:00:06 dev br0",
		"bridge fdb append 02:00:00:00:00:06 dev d1 master static",
		// A tunnel within a tunnel, and one on another interface of a tunnel.
		"ip link add vx2 type vxlan id 7 remote 198.51.100.2 dstport 4791", "ip addr add 10.9.0.1/24 dev vx2", "ip link set vx2 up",
		"ip link add link vx0 name mv0 type macvlan", "ip addr add 10.8.0.1/24 dev mv0", "ip link set mv0 up",
		// One whose end is not known.
		"ip link add vx3 type vxlan id 8 dstport 4792", "ip addr add 10.7.0.1/24 dev vx3", "ip link set vx3 up",
		"ip link add vx4 type vxlan id 9 remote 2001:db8::9 dstport 4793", "ip addr add 10.6.0.1/24 dev vx4", "ip link set vx4 up",
	)
	const first = "vx0 vxlan 192.0.2.9 udp/4789"
	for _, c := range []struct{ local, remote, want string }{
		{"192.0.2.1", "192.0.2.77", ""},
		{"198.51.100.1", "198.51.100.2", first},
		{"", "198.51.100.2", first},
		{"198.51.100.1", "192.0.2.77", first}, // it comes in by the tunnel, and answers leave by the line
		{"203.0.113.1", "203.0.113.7", "vx1 vxlan 192.0.2.7 udp/4790"},
		{"203.0.113.1", "203.0.113.6", ""}, // behind the other port of the bridge
		{"203.0.113.1", "203.0.113.5", "vx1 vxlan 192.0.2.7 192.0.2.8 udp/4790"},
		{"10.9.0.1", "10.9.0.2", "vx2 vxlan 198.51.100.2 udp/4791\n" + first},
		{"10.8.0.1", "10.8.0.2", first},
		{"10.7.0.1", "10.7.0.2", "vx3 vxlan udp/4792: the other end of the tunnel vx3 is not known"},
		{"10.6.0.1", "10.6.0.2", "vx4 vxlan 2001:db8::9 udp/4793"},
	} {
		if got := carried(t, New("/"), c.local, c.remote); got != c.want {
			t.Errorf("from %s to %s:\n%s\nwant:\n%s", c.local, c.remote, got, c.want)
		}
	}
}

// Where a VXLAN has learned the next hop of a session, that is the end; what else it has learned is none.
func TestALearnedEndCarriesWhatGoesThere(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable[:4]...)
	run(t,
		"mount -t tmpfs tmpfs /run", "mkdir -p /run/netns", "ip netns add peer", "ip link set p0 netns peer", "ip -n peer link set p0 up",
		"ip -n peer addr add 192.0.2.7/24 dev p0",
		"ip link add vx0 type vxlan id 5 remote 192.0.2.9 local 192.0.2.1 dstport 4789", "ip addr add 198.51.100.1/24 dev vx0", "ip link set vx0 up",
		"bridge fdb append 02:00:00:00:00:66 dev vx0 dst 192.0.2.66 self dynamic",
		"ip -n peer link add vx0 type vxlan id 5 remote 192.0.2.1 local 192.0.2.7 dstport 4789",
		"ip -n peer addr add 198.51.100.2/24 dev vx0", "ip -n peer link set vx0 up",
	)
	here, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(198, 51, 100, 1), Port: 7000})
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	go func() {
		for b := make([]byte, 1); ; {
			if _, from, err := here.ReadFromUDP(b); err != nil {
				return
			} else if _, err := here.WriteToUDP(b, from); err != nil {
				return
			}
		}
	}()
	var peer net.Conn
	testenv.InNetworkNamespace(t, "/run/netns/peer", func() { peer, err = net.Dial("udp", "198.51.100.1:7000") })
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	testenv.WaitFor(t, "both talk", func() bool {
		peer.Write([]byte("x"))
		peer.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err := peer.Read(make([]byte, 1))
		return err == nil
	})
	if got, want := carried(t, New("/"), "198.51.100.1", "198.51.100.2"), "vx0 vxlan 192.0.2.7 udp/4789"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// IPsec protects what its policies say, whatever the interface.
func TestPoliciesOfIPsecCarry(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	run(t,
		"ip addr add 10.1.0.1/24 dev d0", "ip route add 10.2.0.0/16 via 192.0.2.99",
		"ip xfrm policy add src 10.1.0.0/16 dst 10.2.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.9 proto esp mode tunnel",
		"ip xfrm policy add src 10.2.0.0/16 dst 10.1.0.0/16 dir in tmpl src 192.0.2.9 dst 192.0.2.1 proto esp mode tunnel",
		"ip xfrm policy add src 10.3.0.0/16 dst 10.1.0.0/16 dir in tmpl src 192.0.2.8 dst 192.0.2.1 proto esp mode tunnel",
		"ip xfrm policy add src 192.0.2.1 dst 192.0.2.50 dir out tmpl proto ah mode transport",
		"ip xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir out if_id 7 tmpl src 192.0.2.1 dst 192.0.2.60 proto esp mode tunnel",
		"ip -6 xfrm policy add src ::/0 dst 2001:db8:6::/48 dir out tmpl src 192.0.2.1 dst 192.0.2.6 proto esp mode tunnel",
		"ip xfrm policy add src 10.1.0.0/16 dst 10.4.0.0/16 dir out action block",
	)
	ike, err := net.ListenPacket("udp", ":4500")
	if err != nil {
		t.Fatal(err)
	}
	defer ike.Close()
	// What a user has at such a port carries nothing.
	ofUser, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ofUser)
	if err := errors.Join(unix.Bind(ofUser, &unix.SockaddrInet4{Port: 500}), unix.Fchown(ofUser, 4000, 4000)); err != nil {
		t.Fatal(err)
	}
	by := fmt.Sprintf(" udp/4500 by [%d]", os.Getpid())
	for remote, want := range map[string]string{
		"10.2.0.5": "ipsec ipsec 192.0.2.9 esp/0" + by, "10.3.0.5": "ipsec ipsec 192.0.2.8 esp/0" + by,
		"10.4.0.5": "", "10.5.0.5": "", "192.0.2.50": "",
	} {
		if got := carried(t, New("/"), "10.1.0.1", remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
	if got, want := carried(t, New("/"), "192.0.2.1", "192.0.2.50"), "ipsec ipsec 192.0.2.50 ah/0"+by; got != want {
		t.Errorf("between two hosts: %s, want %s", got, want)
	}
	if got, want := carried(t, New("/"), "2001:db8::1", "2001:db8:6::1"), "ipsec ipsec 192.0.2.6 esp/0"+by; got != want {
		t.Errorf("IPv6 in IPv4: %s, want %s", got, want)
	}
	// An interface of IPsec, which this kernel need not have.
	r := New("/")
	r.kernel.links = with(interfaces.Link{Index: 99, Kind: interfaces.KindXFRM, Name: "ipsec0", XFRM: 7, Addresses: []netip.Prefix{netip.MustParsePrefix("10.60.0.1/24")}})
	if got, want := carried(t, r, "10.60.0.1", "10.60.0.2"), "ipsec ipsec 192.0.2.60 esp/0"+by; got != want {
		t.Errorf("by an interface: %s, want %s", got, want)
	}
}

// with adds links to those that there are.
func with(more ...interfaces.Link) func() ([]interfaces.Link, error) {
	return func() ([]interfaces.Link, error) {
		list, err := interfaces.List()
		return append(list, more...), err
	}
}

// Kinds that a kernel may lack are tunnels by what rtnetlink says of them.
func TestKindsOfKernelTunnels(t *testing.T) {
	far, near := netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("192.0.2.1")
	for kind, want := range map[string]string{
		"gre": "t0 gre 192.0.2.9 gre/0", "gretap": "t0 gretap 192.0.2.9 gre/0", "ipip": "t0 ipip 192.0.2.9 ipencap/0", "sit": "t0 sit 192.0.2.9 ipv6/0",
		"geneve": "t0 geneve 192.0.2.9 udp/6081", "vti": "t0 vti 192.0.2.9", "veth": "", "dummy": "",
	} {
		l := interfaces.Link{Index: 5, Name: "t0", Kind: kind, Remote: far, Local: near, Addresses: []netip.Prefix{netip.MustParsePrefix("10.5.0.1/24")}}
		if kind == "geneve" {
			l.Port = 6081
		}
		below := interfaces.Link{Index: 6, Name: "v0", Kind: "vlan", Lower: 5, Addresses: []netip.Prefix{netip.MustParsePrefix("10.6.0.1/24")}}
		bond := interfaces.Link{Index: 7, Name: "b0", Kind: "bond", Addresses: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")}}
		l.Master = 7
		r := New("/")
		r.kernel = silentKernel(l, below, bond)
		for _, local := range []string{"10.5.0.1", "10.6.0.1", "10.7.0.1"} {
			if got := carried(t, r, local, "10.9.9.9"); got != want {
				t.Errorf("%s, %s: %s, want %s", kind, local, got, want)
			}
		}
	}
}

// silentKernel has links and nothing else.
func silentKernel(links ...interfaces.Link) kernel {
	return kernel{
		links:     func() ([]interfaces.Link, error) { return links, nil },
		routes:    func(int, *netlink.Route, uint64, func(netlink.Route) bool) error { return nil },
		routesTo:  func(netip.Addr, netip.Addr) ([]netlink.Route, error) { return nil, nil },
		neighbors: func(netlink.Ndmsg) ([]netlink.Neigh, error) { return nil, nil },
		policies:  func() ([]netlink.XfrmPolicy, error) { return nil, nil },
		wireGuard: func(int) ([][]byte, error) { return nil, errors.New("no WireGuard") },
		peers:     func(context.Context, []uint16) ([]conntrack.Peer, error) { return nil, nil },
	}
}

// Tunnels that lead into each other end.
func TestCirclesEnd(t *testing.T) {
	a := interfaces.Link{Index: 5, Name: "a", Kind: "gre", Remote: netip.MustParseAddr("10.2.0.2"), Local: netip.MustParseAddr("10.2.0.1"), Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.1/24")}, Master: 7}
	b := interfaces.Link{Index: 6, Name: "b", Kind: "gre", Remote: netip.MustParseAddr("10.1.0.2"), Local: netip.MustParseAddr("10.1.0.1"), Addresses: []netip.Prefix{netip.MustParsePrefix("10.2.0.1/24")}}
	loop := interfaces.Link{Index: 7, Name: "c", Kind: "bond", Master: 7, Addresses: []netip.Prefix{netip.MustParsePrefix("10.3.0.1/24")}}
	r := New("/")
	r.kernel = silentKernel(a, b, loop)
	if got := strings.Count(carried(t, r, "10.3.0.1", "10.9.9.9"), "gre/0"); got < 2 || got > maxDepth+1 {
		t.Errorf("%d tunnels", got)
	}
}

func openTUN(t *testing.T, name string, flags uint16) int {
	t.Helper()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	testenv.Need(t, err == nil, "/dev/net/tun")
	request, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(flags | unix.IFF_NO_PI)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(request))); e != 0 {
		t.Fatal(e)
	}
	return fd
}

// Whoever holds the device carries the packets, here a shell in a PID namespace of its own which
// got it under another name. With whom it talks is in its sockets and in connection tracking.
func TestWhoHoldsATUNDeviceCarries(t *testing.T) {
	testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	fd := openTUN(t, "tun7", unix.IFF_TUN)
	server, err := net.ListenPacket("udp", "192.0.2.1:1194")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := server.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(testenv.Program(t, "unshare", "util-linux"), "--pid", "--fork", "--kill-child", "sleep", "600")
	holder.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "device"), socket}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { holder.Process.Kill(); holder.Wait() })
	holder.ExtraFiles[0].Close()
	socket.Close()
	server.Close()
	run(t, "ip addr add 198.51.100.1/24 dev tun7", "ip link set tun7 up")
	var pids []int
	testenv.WaitFor(t, "both processes hold the device", func() bool {
		w := walk{Reader: New("/"), ctx: t.Context()}
		pids = carriers(w.search().holders["tun7"])
		return len(pids) == 2
	})
	if !slices.Contains(pids, holder.Process.Pid) {
		t.Errorf("%v hold it, not %d", pids, holder.Process.Pid)
	}
	by := fmt.Sprint(" by ", pids)
	const unseen = ": with whom the program of the tunnel tun7 talks is not seen (connection tracking would tell)"
	if got := carried(t, New("/"), "198.51.100.1", "198.51.100.2"); got != "tun7 tun udp/1194"+by+unseen {
		t.Errorf("a server whose peers are not seen: %s", got)
	}
	run(t, "conntrack -I -p udp -s 192.0.2.66 -d 192.0.2.1 --sport 5000 --dport 1194 -t 60")
	if got := carried(t, New("/"), "198.51.100.1", "198.51.100.2"); got != "tun7 tun udp/1194"+by+unseen {
		t.Errorf("a flow that nobody answered: %s", got)
	}
	run(t, "conntrack -I -p udp -s 192.0.2.7 -d 192.0.2.1 --sport 5000 --dport 1194 -t 60 -u SEEN_REPLY")
	if got := carried(t, New("/"), "198.51.100.1", "198.51.100.2"); got != "tun7 tun 192.0.2.7 udp/1194"+by {
		t.Errorf("a server: %s", got)
	}
	if got := carried(t, New("/"), "192.0.2.1", "192.0.2.7"); got != "" {
		t.Errorf("beside the tunnel: %s", got)
	}
}

// Everybody can make a device of the same name in a network of their own, and take it out of there:
// that makes them no carrier of what comes through this one, and those that they talk with none.
func TestADeviceOfTheSameNameClaimsNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	fd := openTUN(t, "tun7", unix.IFF_TUN)
	defer unix.Close(fd)
	run(t, "ip addr add 198.51.100.1/24 dev tun7", "ip link set tun7 up")
	server, err := net.Dial("udp", "192.0.2.9:1194")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	forged := make(chan int)
	var forge func()
	forge = func() {
		runtime.LockOSThread()
		defer func() { <-t.Context().Done() }() // the network, and the device with it, would end with the thread
		if unix.Gettid() == os.Getpid() {       // whose namespace is that of the process
			go forge()
			return
		}
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
		}
		forged <- openTUN(t, "tun7", unix.IFF_TUN)
	}
	go forge()
	holdAs(t, 4000, <-forged, "192.0.2.66:443")
	if got, want := carried(t, New("/"), "198.51.100.1", "198.51.100.2"), fmt.Sprintf("tun7 tun 192.0.2.9 by [%d]", os.Getpid()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// holdAs starts a process of a user that has a file open and a UDP socket that is connected.
func holdAs(t *testing.T, uid uint32, fd int, remote string) {
	t.Helper()
	socket, err := net.Dial("udp", remote)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	file, err := socket.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := exec.Command("/bin/sleep", "600")
	c.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "device"), file}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	c.ExtraFiles[0].Close()
}

// What is found in the files of all processes is found once, for however many connections.
func TestProcessesAreSearchedOnce(t *testing.T) {
	link := func(index int, name, address string) interfaces.Link {
		return interfaces.Link{Index: index, Name: name, Kind: interfaces.KindTUN, Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}
	}
	root := testenv.Plant(t, map[string]string{
		"proc/9/fd/": "", "proc/9/fdinfo/3": "iff:\ttun0\n", "proc/9/fdinfo/4": "iff:\ttun1\n", "proc/9/status": "Uid:\t0\t0\t0\t0\n",
	})
	for _, fd := range []string{"3", "4"} {
		if err := os.Symlink("/dev/net/tun", filepath.Join(root, "proc/9/fd", fd)); err != nil {
			t.Fatal(err)
		}
	}
	r := New(root)
	r.kernel = silentKernel(link(5, "tun0", "10.8.0.1/16"), link(6, "tun1", "10.9.0.1/16"))
	for _, c := range [][2]string{{"10.8.0.1", "10.8.0.2"}, {"10.8.0.1", "10.8.0.3"}, {"10.9.0.1", "10.9.0.2"}} {
		if got := carried(t, r, c[0], c[1]); !strings.Contains(got, " by [9]") {
			t.Errorf("%v: %s", c, got)
		}
		if err := os.RemoveAll(filepath.Join(root, "proc/9")); err != nil {
			t.Fatal(err)
		}
	}
}

// A process may have a device open as often as it likes.
func TestAHolderIsAskedForOnce(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"proc/9/status": "Uid:\t0\t0\t0\t0\n"})
	r := New(root)
	of := (&walk{Reader: r}).holders()
	for range 2 {
		if got, want := of(9), (holder{pid: 9, here: true, system: true}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if err := os.RemoveAll(filepath.Join(root, "proc/9")); err != nil {
			t.Fatal(err)
		}
	}
}

// A user who was given a device chooses which program with the rights of an account waits while it holds it. Where
// nobody else does, that carries the packets all the same.
func TestWhatLendsAnAccountHoldsADeviceForItsUser(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"at": "", "openvpn": "",
		"proc/8/fd/": "", "proc/8/fdinfo/3": "iff:\ttun0\n", "proc/8/fdinfo/4": "iff:\ttun1\n", "proc/8/status": "Uid:\t1\t0\t0\t0\n",
		"proc/9/fd/": "", "proc/9/fdinfo/3": "iff:\ttun0\n", "proc/9/status": "Uid:\t1\t1\t1\t1\n",
	})
	err := os.Chmod(filepath.Join(root, "at"), 0o755|os.ModeSetuid)
	for name, to := range map[string]string{"8/exe": "/at", "9/exe": "/openvpn", "8/fd/3": "/dev/net/tun", "8/fd/4": "/dev/net/tun", "9/fd/3": "/dev/net/tun"} {
		err = errors.Join(err, os.Symlink(to, filepath.Join(root, "proc", name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	w := walk{Reader: New(root), ctx: t.Context()}
	for device, want := range map[string][]int{"tun0": {9}, "tun1": {8}} {
		if got := carriers(w.search().holders[device]); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", device, got, want)
		}
	}
}

// Behind a bridge it is the port that the next hop was learned behind; a TAP device beside others
// is a virtual machine's where that is not known.
func TestPortsOfABridge(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	fd := openTUN(t, "tap9", unix.IFF_TAP)
	defer unix.Close(fd)
	run(t, "ip link add br0 type bridge", "ip link set br0 up", "ip link set tap9 master br0", "ip link set tap9 up", "ip addr add 203.0.113.1/24 dev br0")
	if got := carried(t, New("/"), "203.0.113.1", "203.0.113.2"); !strings.HasPrefix(got, "tap9 tun") {
		t.Errorf("alone: %q", got)
	}
	run(t, "ip link add e0 type veth peer name e1", "ip link set e0 master br0", "ip link set e0 up", "ip link set e1 up")
	if got := carried(t, New("/"), "203.0.113.1", "203.0.113.2"); got != "" {
		t.Errorf("beside another port: %q", got)
	}
	run(t, "ip neigh add 203.0.113.2 lladdr 02:00:00:00:00:02 dev br0", "bridge fdb append 02:00:00:00:00:02 dev tap9 master static")
	if got := carried(t, New("/"), "203.0.113.1", "203.0.113.2"); !strings.HasPrefix(got, "tap9 tun") {
		t.Errorf("learned there: %q", got)
	}
}

// A client's program talks over connections; a device that nobody holds, or one of the same name in
// another network, is told.
func TestProgramsOfTunnels(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	other := exec.Command(testenv.Program(t, "unshare", "util-linux"), "--net", "sh", "-c", "ip tuntap add dev tun8 mode tun && exec 3<>/dev/net/tun && echo in && exec sleep 600")
	said, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	if _, err := said.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	run(t, "ip tuntap add dev tun8 mode tun", "ip addr add 198.51.100.1/24 dev tun8", "ip link set tun8 up")
	if got := carried(t, New("/"), "198.51.100.1", "198.51.100.2"); got != "tun8 tun: the program that carries the packets of the tunnel tun8 is not seen" {
		t.Errorf("nobody holds it: %s", got)
	}
	fd := openTUN(t, "tap9", unix.IFF_TAP)
	defer unix.Close(fd)
	run(t, "ip addr add 203.0.113.1/24 dev tap9", "ip link set tap9 up")
	connected, err := net.Dial("udp", "192.0.2.9:1194")
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	if got, want := carried(t, New("/"), "203.0.113.1", "203.0.113.2"), fmt.Sprintf("tap9 tun 192.0.2.9 by [%d]", os.Getpid()); got != want {
		t.Errorf("a client: %s, want %s", got, want)
	}
}

// heldTUN has this test hold a device, and a server at UDP port 1194.
func heldTUN(t *testing.T, name string) {
	t.Helper()
	fd := openTUN(t, name, unix.IFF_TUN)
	server, err := net.ListenPacket("udp", "192.0.2.1:1194")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd); server.Close() })
	run(t, "ip addr add 198.51.100.1/24 dev "+name, "ip link set "+name+" up")
}

// answered has connection tracking remember so many hosts, from the first on, that the server has answered.
func answered(t *testing.T, first string, n int) {
	t.Helper()
	var flows strings.Builder
	for a := netip.MustParseAddr(first); n > 0; a, n = a.Next(), n-1 {
		fmt.Fprintf(&flows, "-I -p udp -s %s -d 192.0.2.1 --sport 5000 --dport 1194 -t 600 -u SEEN_REPLY\n", a)
	}
	path := filepath.Join(t.TempDir(), "flows")
	if err := os.WriteFile(path, []byte(flows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "conntrack -R "+path)
}

// A server that answers everybody has as many ends as packets were sent to it: each may be the one that a session
// comes from, and they make nobody else one.
func TestAServerThatAnswersManyHasManyEnds(t *testing.T) {
	testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	heldTUN(t, "tun7")
	answered(t, "198.18.0.1", 4096)
	for _, route := range []string{"", "ip route add default dev tun7"} {
		if route != "" { // nor does it matter how the ends are reached
			run(t, route)
		}
		found, err := New("/").Carry(t.Context(), between("198.51.100.1", "198.51.100.2"))
		if err != nil || len(found) != 1 {
			t.Fatalf("after %q: %d tunnels, %v", route, len(found), err)
		}
		ends := found[0].Addresses
		if found[0].Unknown != "" || len(ends) != 4096 || ends[0].String() != "198.18.0.1" || ends[4095].String() != "198.18.16.0" {
			t.Errorf("after %q: %d ends, from %v to %v, unknown %q", route, len(ends), ends[0], ends[len(ends)-1], found[0].Unknown)
		}
	}
	answered(t, "198.19.0.1", 1)
	r := New("/")
	for _, remote := range []string{"198.51.100.2", "198.51.100.3"} { // what is found once is told to all
		found, err := r.Carry(t.Context(), between("198.51.100.1", remote))
		const want = "with whom the program of the tunnel tun7 talks is not all known (more than 4096 hosts talk with it over UDP)"
		if err != nil || len(found) != 1 || found[0].Unknown != want || len(found[0].Addresses) != 4096 {
			t.Errorf("to %s: %+v, %v", remote, len(found), err)
		}
	}
}

// However many ends are reached through the same tunnel, it is told once, and leaves room for others.
func TestATunnelOfManyEndsIsToldOnce(t *testing.T) {
	testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	run(t, cable...)
	heldTUN(t, "tun7")
	run(t, "ip link add vx0 type vxlan id 5 remote 192.0.2.9 dstport 4789", "ip addr add 10.9.0.1/24 dev vx0", "ip link set vx0 up",
		"ip link add vx1 type vxlan id 6 remote 192.0.2.8 dstport 4790", "ip addr add 10.8.0.1/24 dev vx1", "ip link set vx1 up",
		"ip route add 198.18.0.0/16 dev vx0", "ip route add 198.19.0.0/16 dev vx1")
	answered(t, "198.18.0.1", 100)
	answered(t, "198.19.0.1", 1)
	found, err := New("/").Carry(t.Context(), between("198.51.100.1", "198.51.100.2"))
	var names []string
	for _, f := range found {
		names = append(names, f.Interface)
	}
	if err != nil || !slices.Equal(names, []string{"tun7", "vx0", "vx1"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// The device is /dev/null under another name: few machines have that of PPP. Anybody may name it in a descriptor with
// O_PATH, which is no line.
func TestALineOfPPPIsOpen(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	device := filepath.Join(t.TempDir(), "null")
	bind(t, "/dev/null", device)
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	bind(t, device, "/dev/ppp")
	for flags, want := range map[int][]int{unix.O_PATH: nil, unix.O_RDWR: {os.Getpid()}} {
		fd, err := unix.Open("/dev/ppp", flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		w := walk{Reader: New("/"), ctx: t.Context()}
		if got := w.search().ppp; !slices.Equal(got, want) {
			t.Errorf("opened with %#o: %v hold a line, want %v", flags, got, want)
		}
		unix.Close(fd)
	}
}

// bind makes a file of another one.
func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(to, nil, 0o600), unix.Mount(from, to, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(to, unix.MNT_DETACH) }) // or its directory cannot be removed
}
