// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// The test network is three machines over veth: this one, a peer, and one far off that
// the peer reaches through this one. A stranger shares the peer's line.
const (
	here4, here6         = "198.51.100.1", "2001:db8:1::1"
	peer4, peer6         = "198.51.100.2", "2001:db8:1::2"
	stranger4, stranger6 = "198.51.100.3", "2001:db8:1::3"
	far4, far6           = "203.0.113.2", "2001:db8:2::2"

	look    = 2 * time.Millisecond   // between two looks
	silence = 150 * time.Millisecond // in which nothing comes
)

// A testNetwork holds, for each machine, a socket that hears what is sent to it.
type testNetwork struct {
	t     *testing.T
	heard sync.Map // token to true
	next  atomic.Int64
}

const port = 7000

func newTestNetwork(t *testing.T) *testNetwork {
	t.Helper()
	testenv.RequireIsolated(t)
	for _, command := range []string{
		"mount -t tmpfs tmpfs /run", "mkdir -p /run/netns", "ip netns add peer", "ip netns add far",
		"ip link add p0 type veth peer name p1 netns peer", "ip link add f0 type veth peer name f1 netns far",
		"ip addr add 198.51.100.1/24 dev p0", "ip addr add 2001:db8:1::1/64 dev p0 nodad", "ip link set p0 up",
		"ip addr add 203.0.113.1/24 dev f0", "ip addr add 2001:db8:2::1/64 dev f0 nodad", "ip link set f0 up",
		"ip -n peer link set lo up", "ip -n far link set lo up",
		"ip -n peer addr add 198.51.100.2/24 dev p1", "ip -n peer addr add 2001:db8:1::2/64 dev p1 nodad",
		"ip -n peer addr add 198.51.100.3/24 dev p1", "ip -n peer addr add 2001:db8:1::3/64 dev p1 nodad", "ip -n peer link set p1 up",
		"ip -n far addr add 203.0.113.2/24 dev f1", "ip -n far addr add 2001:db8:2::2/64 dev f1 nodad", "ip -n far link set f1 up",
		"ip -n peer route add default via 198.51.100.1", "ip -n peer -6 route add default via 2001:db8:1::1",
		"ip -n far route add default via 203.0.113.1", "ip -n far -6 route add default via 2001:db8:2::1",
		"sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
	} {
		run(t, command)
	}
	w := &testNetwork{t: t}
	for place, addresses := range map[string][]string{"": {here4, here6}, "peer": {peer4, peer6, stranger4, stranger6}, "far": {far4, far6}} {
		for _, a := range addresses {
			w.listen(place, a)
		}
	}
	return w
}

// run runs a command whose words hold no blanks.
func run(t testing.TB, command string) string {
	t.Helper()
	out, err := try(command)
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return out
}

func try(command string) (string, error) {
	words := strings.Fields(command)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	return string(out), err
}

// at runs do in the network namespace of a machine; "" is this one.
func at(t testing.TB, place string, do func()) {
	t.Helper()
	if place == "" {
		do()
		return
	}
	testenv.InNetworkNamespace(t, "/run/netns/"+place, do)
}

func (w *testNetwork) listen(place, address string) {
	w.t.Helper()
	at(w.t, place, func() {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(address), Port: port})
		if err != nil {
			w.t.Error(err)
			return
		}
		w.t.Cleanup(func() { conn.Close() })
		go func() {
			for buf := make([]byte, 100); ; {
				n, _, err := conn.ReadFromUDP(buf)
				if err != nil {
					return
				}
				w.heard.Store(string(buf[:n]), true)
			}
		}()
	})
}

// delivered sends a packet and says whether it arrives.
func (w *testNetwork) delivered(place, from, to string, wait time.Duration) bool {
	w.t.Helper()
	token := fmt.Sprint(w.next.Add(1))
	at(w.t, place, func() {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP(to), Port: port})
		if err != nil {
			w.t.Error(err)
			return
		}
		defer conn.Close()
		conn.Write([]byte(token)) // EPERM where the packet may not leave
	})
	for ; wait > 0; wait -= look {
		if _, ok := w.heard.Load(token); ok {
			return true
		}
		pause(look)
	}
	return false
}

// path is a way that packets take.
type path struct{ direction, place, from, to string }

// paths are those on which the peer stands at one end.
func paths() []path {
	return []path{
		{"in", "peer", peer4, here4}, {"out", "", here4, peer4}, {"forward", "peer", peer4, far4}, {"forward", "far", far4, peer4},
		{"in", "peer", peer6, here6}, {"out", "", here6, peer6}, {"forward", "peer", peer6, far6}, {"forward", "far", far6, peer6},
	}
}

// open checks that packets pass on every path.
func (w *testNetwork) open() {
	w.t.Helper()
	for _, p := range paths() {
		w.passes(p)
	}
}

func (w *testNetwork) passes(p path) {
	w.t.Helper()
	for range 60 {
		if w.delivered(p.place, p.from, p.to, time.Second) {
			return
		}
	}
	w.t.Errorf("%s: nothing gets from %s to %s", p.direction, p.from, p.to)
}

// of says that the peer at one end of the path has this address.
func (p path) of(peer netip.Addr) bool { return p.from == peer.String() || p.to == peer.String() }

func (w *testNetwork) passesFor(t *testing.T, peer netip.Addr) {
	t.Helper()
	for _, p := range paths() {
		if p.of(peer) {
			w.passes(p)
		}
	}
}

func (w *testNetwork) stopsFor(t *testing.T, peer netip.Addr) {
	t.Helper()
	for _, p := range paths() {
		if p.of(peer) {
			w.stops(p)
		}
	}
	for _, p := range strangerPaths() {
		if strings.Contains(p.from, ":") == peer.Is6() {
			w.passes(p)
		}
	}
}

func (w *testNetwork) stops(p path) {
	w.t.Helper()
	if w.delivered(p.place, p.from, p.to, 60*time.Millisecond) {
		w.t.Errorf("%s: a packet gets from %s to %s", p.direction, p.from, p.to)
	}
}

// strangerPaths are those that no block is about.
func strangerPaths() []path {
	return []path{
		{"in", "peer", stranger4, here4}, {"out", "", here4, stranger4}, {"forward", "peer", stranger4, far4},
		{"in", "peer", stranger6, here6}, {"out", "", here6, stranger6}, {"forward", "far", far6, stranger6},
	}
}

// closed checks that nothing passes on any path, and that others are not
// touched.
func (w *testNetwork) closed() {
	w.t.Helper()
	for _, p := range paths() {
		w.stops(p)
	}
	for _, p := range strangerPaths() {
		w.passes(p)
	}
}

// A pair is an open TCP connection: the end on this machine and the peer's.
type pair struct{ here, there net.Conn }

func (w *testNetwork) connect(network, to string) pair {
	w.t.Helper()
	l, err := net.Listen(network, net.JoinHostPort(to, "0"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	var p pair
	target, source := here4, peer4
	if network == "tcp6" {
		target, source = here6, peer6
	}
	at(w.t, "peer", func() {
		_, number, _ := net.SplitHostPort(l.Addr().String())
		dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
		p.there, err = dialer.Dial("tcp", net.JoinHostPort(target, number))
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if p.here, err = l.Accept(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { p.here.Close(); p.there.Close() })
	if !p.flows(testenv.HangLimit) {
		w.t.Fatal("the connection does not carry anything")
	}
	return p
}

// flows says whether a byte gets through within wait.
func (p pair) flows(wait time.Duration) bool {
	if _, err := p.there.Write([]byte("x")); err != nil {
		return false
	}
	p.here.SetReadDeadline(time.Now().Add(wait))
	_, err := p.here.Read(make([]byte, 1))
	return err == nil
}

// sees waits for the error that ends a connection.
func sees(t *testing.T, c net.Conn, want syscall.Errno) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(testenv.HangLimit))
	for {
		_, err := c.Read(make([]byte, 100))
		if err == nil {
			continue
		}
		if e := errnoOf(err); e != want {
			t.Errorf("the end at %s sees %v, want %v", c.LocalAddr(), err, want)
		}
		return
	}
}

func errnoOf(err error) syscall.Errno {
	e, _ := errors.AsType[syscall.Errno](err)
	return e
}

// published opens a connection from the peer to a port of this machine that
// leads to the far one.
func (w *testNetwork) published() pair {
	w.t.Helper()
	var l net.Listener
	var err error
	at(w.t, "far", func() { l, err = net.Listen("tcp4", far4+":80") })
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	var p pair
	at(w.t, "peer", func() { p.there, err = net.DialTimeout("tcp4", here4+":80", 5*time.Second) })
	if err != nil {
		w.t.Fatal(err)
	}
	if p.here, err = l.Accept(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { p.here.Close(); p.there.Close() })
	if !p.flows(testenv.HangLimit) {
		w.t.Fatal("what is published carries nothing")
	}
	return p
}

// pause lets time pass that a test is about, or between two looks.
func pause(d time.Duration) { <-time.After(d) }
