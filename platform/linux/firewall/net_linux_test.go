// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/reach"
	"sentinel/internal/testenv"
)

// waitLimit is how long a packet may take, and silence how long none has to come
// for it to count as refused.
const (
	waitLimit = testenv.HangLimit
	silence   = 400 * time.Millisecond
)

// A neighbour is another host: a network namespace with a cable to this one.
type neighbour struct {
	t   *testing.T
	pid int
	n   int
}

func command(t *testing.T, words string) string {
	t.Helper()
	fields := strings.Fields(words)
	out, err := exec.Command(testenv.Program(t, fields[0], fields[0]), fields[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", words, err, out)
	}
	return string(out)
}

// newNeighbour makes host number n, at 192.0.2.x/30 and 2001:db8:n::2; this one
// is the .1 and ::1 of the same networks.
func newNeighbour(t *testing.T, n int) *neighbour {
	t.Helper()
	testenv.RequireIsolated(t)
	sleeper := exec.Command(testenv.Program(t, "unshare", "util-linux"), "--net", "sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	h := &neighbour{t, sleeper.Process.Pid, n}
	h.wait()
	here := fmt.Sprintf("cable%d", n)
	command(t, fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", here, h.pid))
	command(t, fmt.Sprintf("ip addr add %s/30 dev %s", h.gateway(), here))
	command(t, fmt.Sprintf("ip addr add 2001:db8:%d::1/64 dev %s nodad", n, here))
	command(t, "ip link set "+here+" up")
	inside := fmt.Sprintf("nsenter -t %d -n ip ", h.pid)
	command(t, inside+"link set lo up")
	command(t, fmt.Sprintf("%saddr add %s/30 dev eth0", inside, h.address()))
	command(t, fmt.Sprintf("%saddr add 2001:db8:%d::2/64 dev eth0 nodad", inside, n))
	command(t, inside+"link set eth0 up")
	command(t, inside+"route add default via "+h.gateway())
	return h
}

// wait waits until the other host has a network of its own.
func (h *neighbour) wait() {
	h.t.Helper()
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		h.t.Fatal(err)
	}
	testenv.WaitFor(h.t, "a network of the other host's own", func() bool {
		other, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", h.pid))
		return err == nil && other != own
	})
}

func (h *neighbour) id() string       { return strconv.Itoa(h.pid) }
func (h *neighbour) gateway() string  { return fmt.Sprintf("192.0.2.%d", 4*h.n+1) }
func (h *neighbour) address() string  { return fmt.Sprintf("192.0.2.%d", 4*h.n+2) }
func (h *neighbour) gateway6() string { return fmt.Sprintf("2001:db8:%d::1", h.n) }

// do runs f on the other host. The thread it ran on is not used again.
func (h *neighbour) do(f func()) {
	h.t.Helper()
	testenv.InNetworkNamespace(h.t, fmt.Sprintf("/proc/%d/ns/net", h.pid), f)
}

// dial connects from the other host.
func (h *neighbour) dial(address string, limit time.Duration) (c net.Conn, err error) {
	h.t.Helper()
	h.do(func() { c, err = net.DialTimeout("tcp", address, limit) })
	return c, err
}

// reaches asserts whether the other host can connect to a port of this one, over
// both families, and that the rules that are loaded are read to say the same.
func (h *neighbour) reaches(port string, want bool) {
	h.t.Helper()
	claim := reach.Filtered
	if want {
		claim = reach.Reachable
	}
	if got := judged(h.t, "tcp", "[::]:"+port); got.Answer != claim || got.Limited {
		h.t.Errorf("port %s: said to be %+v, want %s", port, got, claim)
	}
	for _, host := range []string{h.gateway(), h.gateway6()} {
		limit := waitLimit
		if !want {
			limit = silence
		}
		c, err := h.dial(net.JoinHostPort(host, port), limit)
		if err == nil {
			c.Close()
		}
		if (err == nil) != want {
			h.t.Errorf("%s port %s: reachable %v, want %v (%v)", host, port, err == nil, want, err)
		}
	}
}

// judged is what the loaded rules are said to do with a socket.
func judged(t *testing.T, protocol, local string) reach.Verdict {
	t.Helper()
	return liveSource(empty(t)).Firewall(t.Context()).Reach()(protocol, netip.MustParseAddrPort(local), "")
}

// pings asserts that an echo comes back. raw sockets of IPv6 have their checksum
// filled in by the kernel (RFC 3542 section 3.1).
func (h *neighbour) pings(network, host string, request, reply byte) {
	h.t.Helper()
	h.do(func() {
		c, err := net.Dial(network, host)
		if err != nil {
			h.t.Error(err)
			return
		}
		defer c.Close()
		packet := []byte{request, 0, 0, 0, 0x12, 0x34, 0, 1}
		sum := ^(uint32(request)<<8 + 0x1234 + 1)
		packet[2], packet[3] = byte(sum>>8), byte(sum)
		if _, err := c.Write(packet); err != nil {
			h.t.Error(err)
			return
		}
		c.SetReadDeadline(time.Now().Add(waitLimit))
		for b := make([]byte, 1500); ; {
			n, err := c.Read(b)
			if err != nil {
				h.t.Errorf("no echo from %s over %s: %v", host, network, err)
				return
			}
			if b[0]>>4 == 4 && network == "ip4:icmp" {
				b = b[20:] // the header of IPv4 comes with it
			}
			if n > 0 && b[0] == reply {
				return
			}
		}
	})
}

// serve answers every byte with itself on a port of this host.
func serve(t *testing.T, port string) {
	t.Helper()
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		t.Fatal(err)
	}
	echoAll(t, l)
}

func echoAll(t *testing.T, l net.Listener) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// echo asserts that a connection still carries bytes both ways.
func echo(t *testing.T, what string, c net.Conn) {
	t.Helper()
	c.SetDeadline(time.Now().Add(waitLimit))
	b := []byte{'x'}
	if _, err := c.Write(b); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if _, err := c.Read(b); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
