// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	linuxsessions "sentinel/platform/linux/sessions"
)

// carriersHere finds what carries the sessions, as the live system does.
func carriersHere(ctx context.Context) (*sessions.Model, error) {
	return linuxsessions.New("/").Model(ctx)
}

// program runs a program of that name which holds the sockets and does nothing.
func program(t *testing.T, name string, sockets ...interface{ File() (*os.File, error) }) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), name)
	raw, err := os.ReadFile(testenv.Program(t, "sleep", "coreutils"))
	if err == nil {
		err = os.WriteFile(copied, raw, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(copied, "600")
	for _, s := range sockets {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		holder.ExtraFiles = append(holder.ExtraFiles, f)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	for _, s := range sockets {
		if c, ok := s.(*net.TCPConn); ok {
			c.Close() // it is the program's alone now
		}
	}
	t.Cleanup(func() { holder.Process.Kill(); holder.Wait() })
}

// accepted is the side of the server of a new connection.
func accepted(t *testing.T, l net.Listener, dial func() (net.Conn, error)) (server, client *net.TCPConn) {
	t.Helper()
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*net.TCPConn), c.(*net.TCPConn)
}

func listen(t *testing.T, address string) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// A session comes in by a VXLAN, another by a proxy, and both go on: the ports of the tunnel and of
// the proxy stay open, and it is said why.
func TestWhatCarriesSessionsStaysOpen(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 0)
	command(t, "ip link add vx0 type vxlan id 5 dstport 4789 local "+h.gateway()+" remote "+h.address())
	command(t, "ip addr add 198.51.100.1/24 dev vx0")
	command(t, "ip link set vx0 up")
	inside := "nsenter -t " + h.id() + " -n ip "
	command(t, inside+"link add vx0 type vxlan id 5 dstport 4789 local "+h.address()+" remote "+h.gateway())
	command(t, inside+"addr add 198.51.100.2/24 dev vx0")
	command(t, inside+"link set vx0 up")
	serve(t, "2222")

	server := listen(t, "198.51.100.1:2200")
	over, _ := accepted(t, server, func() (net.Conn, error) { return h.dial("198.51.100.1:2200", waitLimit) })
	program(t, "sshd", over)
	front, behind := listen(t, ":8443"), listen(t, "127.0.0.1:2201")
	in, _ := accepted(t, front, func() (net.Conn, error) { return h.dial(net.JoinHostPort(h.gateway(), "8443"), waitLimit) })
	served, relayed := accepted(t, behind, func() (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:2201") })
	program(t, "sshd", served)
	program(t, "relay", front, in, relayed)

	m := newPlain(t)
	plan, err := firewall.PlanEnable(t.Context(), kernel(t), m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour), Sessions: carriersHere})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2200/tcp carries the session", "4789/udp carries the session", "through the tunnel vx0", "8443/tcp carries the session"} {
		if said := plan.Summary(); !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	done, err := plan.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []firewall.Port{tcp(2200), tcp(2222), tcp(8443), udp(4789)}
	if got := slices.SortedFunc(slices.Values(done.AllowedPorts), firewall.Port.Compare); !slices.Equal(got, want) {
		t.Errorf("let in %v, want %v", got, want)
	}
	for _, address := range []string{"198.51.100.1:2222", net.JoinHostPort(h.gateway(), "8443")} {
		if c, err := h.dial(address, waitLimit); err != nil {
			t.Errorf("%s: %v", address, err)
		} else {
			c.Close()
		}
	}
	h.reaches("9", false)
}

// Protocols without ports are loaded, read back and kept as ports are.
func TestProtocolsWithoutPortsAreLetIn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newPlain(t)
	want := []firewall.Port{{Protocol: "ah"}, {Protocol: "esp"}, {Protocol: "gre"}, {Protocol: "ipencap"}, {Protocol: "ipv6"}, tcp(22)}
	if err := m.rules.load(want, nil); err != nil {
		t.Fatal(err)
	}
	rules, ok, err := m.rules.loaded()
	if got := allowedBy(rules); err != nil || !ok || !slices.Equal(got, want) || !whole(rules, want) {
		t.Errorf("loaded %v, %v, %v; want %v", got, ok, err, want)
	}
	if err := m.state.write(want); err != nil {
		t.Fatal(err)
	}
	if got, had, err := m.state.read(); err != nil || !had || !slices.Equal(got, want) {
		t.Errorf("kept %v, %v, %v", got, had, err)
	}
	if said := command(t, "nft list chain inet sentinel_firewall input"); !strings.Contains(said, "meta l4proto gre accept") || !strings.Contains(said, "meta l4proto esp accept") {
		t.Errorf("loaded:\n%s", said)
	}
}

// asUser runs f on a thread whose sockets are a user's. The thread is not used again.
func asUser(t *testing.T, uid int, f func()) {
	t.Helper()
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with its goroutine
		const same = ^uintptr(0)
		_, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uintptr(uid), same)
		if failed == 0 {
			f()
		}
		done <- failed
	}()
	if failed := <-done; failed != 0 {
		t.Fatal(failed)
	}
}

// A program of an ordinary user serves a terminal and has connections at very many ports of its own, from
// another host and from this one: the firewall is switched on all the same, with a few of them open.
func TestTerminalsOfAUserOpenNoCrowdOfPorts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 0)
	m := newPlain(t)
	const user, many = 4321, 40
	server := exec.Command(testenv.Program(t, "script", "util-linux"), "-q", "-c", "sleep 600", "/dev/null")
	server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	hold := func(s interface{ File() (*os.File, error) }) {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		server.ExtraFiles = append(server.ExtraFiles, f)
	}
	for n := range many {
		from, to := h.dial, h.gateway()
		if n%4 == 0 {
			from = func(address string, limit time.Duration) (net.Conn, error) {
				return net.DialTimeout("tcp", address, limit)
			}
		}
		var l net.Listener
		var err error
		asUser(t, user, func() { l, err = net.Listen("tcp", fmt.Sprintf(":%d", 9000+n)) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		client, err := from(net.JoinHostPort(to, fmt.Sprint(9000+n)), waitLimit)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		var c net.Conn
		asUser(t, user, func() { c, err = l.Accept() })
		if err != nil {
			t.Fatal(err)
		}
		hold(l.(*net.TCPListener))
		hold(c.(*net.TCPConn))
		c.Close()
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	atTerminal := func(ctx context.Context) (*sessions.Model, error) {
		model, err := carriersHere(ctx)
		if err == nil && len(model.Ports) < many*3/4 {
			err = errors.New("the terminal does not show yet")
		}
		return model, err
	}
	testenv.WaitFor(t, "a terminal of the user's", func() bool { _, err := atTerminal(t.Context()); return err == nil })

	done, err := do(t, kernel(t), m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour), Sessions: atTerminal})
	if err != nil {
		t.Fatal(err)
	}
	if len(done.AllowedPorts) != 17 || !slices.Contains(done.AllowedPorts, ssh) {
		t.Errorf("let in %v", done.AllowedPorts)
	}
	if !strings.Contains(done.Details, "Programs of users serve sessions at more ports, which are not let in: ") {
		t.Errorf("details %q", done.Details)
	}
	h.reaches("9000", true)
	h.reaches("9039", false)
}

// receive opens a raw socket of a protocol and tells what comes.
func receive(t *testing.T, network string) *net.IPConn {
	t.Helper()
	c, err := net.ListenIP(network, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// arrives asserts whether what the other host sends by a protocol comes in.
func (h *neighbour) arrives(c *net.IPConn, network, to string, want bool) {
	h.t.Helper()
	h.do(func() {
		out, err := net.Dial(network, to)
		if err == nil {
			defer out.Close()
			_, err = out.Write([]byte("hello"))
		}
		if err != nil {
			h.t.Error(err)
		}
	})
	limit := waitLimit
	if !want {
		limit = silence
	}
	c.SetReadDeadline(time.Now().Add(limit))
	n, err := c.Read(make([]byte, 100))
	if (err == nil && n > 0) != want {
		h.t.Errorf("%s to %s: %d bytes, %v; want any: %v", network, to, n, err, want)
	}
}

// A router and a machine that stands in for another hear their neighbours by raw sockets.
func TestWhatRoutersReceiveGoesOnToComeIn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 0)
	m, source := newPlain(t), kernel(t)
	ospf, vrrp := receive(t, "ip4:89"), receive(t, "ip6:112")
	receive(t, "ip4:icmp")
	receive(t, "ip6:ipv6-icmp")
	other := receive(t, "ip4:103") // of a user, as that of ping
	raw, err := other.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = unix.Fchown(int(fd), 4321, 4321) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.arrives(ospf, "ip4:89", h.gateway(), true)
	h.arrives(vrrp, "ip6:112", h.gateway6(), true)

	plan, err := firewall.PlanEnable(t.Context(), source, m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	done, err := plan.Do(t.Context())
	if want := []string{"ospf", "vrrp"}; err != nil || !slices.Equal(done.AllowedProtocols, want) {
		t.Fatalf("let in %q, want %q, %v", done.AllowedProtocols, want, err)
	}
	h.arrives(ospf, "ip4:89", h.gateway(), true)
	h.arrives(vrrp, "ip6:112", h.gateway6(), true)
	h.arrives(other, "ip4:103", h.gateway(), false)
	if _, err := do(t, source, m, firewall.EnableOptions{Confirm: true, Trials: trials(m.Manager, 0)}); err != nil {
		t.Fatal(err)
	}
	flush(t)
	if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
		t.Errorf("restored %v, %v", restored, err)
	}
	h.arrives(vrrp, "ip6:112", h.gateway6(), true)
	h.arrives(other, "ip4:103", h.gateway(), false)
}
