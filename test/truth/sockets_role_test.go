// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// linkLocal is the address that the test gives to its interface, with the
// zone. A packet to silent, an address of the same network, is lost.
const (
	cable     = "truth0"
	linkLocal = "fe80::1%" + cable
	own       = "192.0.2.1"
	silent    = "192.0.2.99"
)

// playSockets opens its sockets at its first order and keeps them.
func playSockets(orders *bufio.Scanner, out io.Writer) error {
	var k keeper
	for orders.Scan() {
		if err := k.openAll(); err != nil {
			return err
		}
		fmt.Fprintln(out, "open") // the test misses it
	}
	return orders.Err()
}

// A keeper keeps what it opened from being collected and closed.
type keeper struct {
	kept []any
}

func (k *keeper) openAll() error {
	for _, open := range []func() error{
		k.listenTCP, k.pairs, k.udp, k.halfClosed, k.timeWait, k.orphan,
		k.synSent, k.synReceived, k.boundOnly, k.shared,
	} {
		if err := open(); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) keep(things ...any) { k.kept = append(k.kept, things...) }

func (k *keeper) listen(network, address string) (*net.TCPListener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	k.keep(l)
	return l.(*net.TCPListener), nil
}

// listenTCP listens on loopback and wildcard of both families, on one socket
// for both ("tcp" on [::]), and on a link-local address.
func (k *keeper) listenTCP() error {
	for _, l := range [][2]string{
		{"tcp4", "127.0.0.1:0"}, {"tcp4", "0.0.0.0:0"}, {"tcp4", own + ":0"},
		{"tcp6", "[::1]:0"}, {"tcp6", "[::]:0"}, {"tcp", "[::]:0"}, {"tcp6", "[" + linkLocal + "]:0"},
	} {
		if _, err := k.listen(l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}

// pair connects to a listener at address and returns both ends. to, where it
// is given, is the address to connect to instead.
func (k *keeper) pair(network, address, to string) (client, server *net.TCPConn, err error) {
	l, err := k.listen(network, address)
	if err != nil {
		return nil, nil, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, err
	}
	c, err := net.Dial("tcp", net.JoinHostPort(cmp.Or(to, host), port))
	if err != nil {
		return nil, nil, err
	}
	s, err := l.AcceptTCP()
	k.keep(c, s)
	return c.(*net.TCPConn), s, err
}

// pairs are established connections: IPv4, IPv6, an IPv4 client of an IPv6
// socket, which the kernel shows as ::ffff:127.0.0.1, and link-local.
func (k *keeper) pairs() error {
	for _, p := range [][3]string{
		{"tcp4", "127.0.0.1:0", ""}, {"tcp4", own + ":0", ""}, {"tcp6", "[::1]:0", ""},
		{"tcp", "[::]:0", "127.0.0.1"}, {"tcp6", "[" + linkLocal + "]:0", ""},
	} {
		if _, _, err := k.pair(p[0], p[1], p[2]); err != nil {
			return err
		}
	}
	return nil
}

// udp opens unconnected and connected sockets of both families.
func (k *keeper) udp() error {
	for _, l := range [][2]string{
		{"udp4", "127.0.0.1:0"}, {"udp4", "0.0.0.0:0"}, {"udp6", "[::1]:0"}, {"udp6", "[::]:0"},
		{"udp", "[::]:0"}, {"udp6", "[" + linkLocal + "]:0"},
	} {
		p, err := net.ListenPacket(l[0], l[1])
		if err != nil {
			return err
		}
		k.keep(p)
	}
	for _, to := range []string{"127.0.0.1:9", "[::1]:9", "[" + linkLocal + "]:9", silent + ":9"} {
		c, err := net.Dial("udp", to)
		if err != nil {
			return err
		}
		k.keep(c)
	}
	return nil
}

// halfClosed leaves one end in FIN_WAIT_2 and the other in CLOSE_WAIT.
func (k *keeper) halfClosed() error {
	client, server, err := k.pair("tcp4", "127.0.0.1:0", "")
	if err != nil {
		return err
	}
	if err := client.CloseWrite(); err != nil {
		return err
	}
	return untilEnd(server)
}

// timeWait closes both ends in turn; the socket that remains has no process.
func (k *keeper) timeWait() error {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		client, server, err := k.pair("tcp", address, "")
		if err != nil {
			return err
		}
		if err := client.CloseWrite(); err != nil {
			return err
		}
		if err := untilEnd(server); err != nil {
			return err
		}
		if err := server.Close(); err != nil {
			return err
		}
		if err := untilEnd(client); err != nil {
			return err
		}
		if err := client.Close(); err != nil {
			return err
		}
	}
	return nil
}

// orphan closes one end only: it is in FIN_WAIT_2 without a process.
func (k *keeper) orphan() error {
	client, server, err := k.pair("tcp6", "[::1]:0", "")
	if err != nil {
		return err
	}
	if err := client.Close(); err != nil {
		return err
	}
	return untilEnd(server)
}

func untilEnd(c *net.TCPConn) error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// synSent connects to an address that does not answer.
func (k *keeper) synSent() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	to := &unix.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 99}}
	if err := unix.Connect(s, to); err != unix.EINPROGRESS {
		return fmt.Errorf("connect to a silent address: %w", err)
	}
	return nil
}

// synReceived leaves a connection half open: a listener with TCP_DEFER_ACCEPT
// has no socket for a client until its first byte comes (tcp(7)).
func (k *keeper) synReceived() error {
	l, err := k.listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 60)
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	c, err := net.Dial("tcp", l.Addr().String())
	k.keep(c)
	return err
}

// boundOnly has a port and neither listens nor is connected. ss leaves such a
// socket out.
func (k *keeper) boundOnly() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Bind(s, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

// shared is a listener that a child process holds too, as a server and its
// workers do.
func (k *keeper) shared() error {
	l, err := k.listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close() // a copy
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), roleVar+"=worker")
	child.ExtraFiles = []*os.File{file}
	stdin, err := child.StdinPipe()
	if err != nil {
		return err
	}
	k.keep(stdin)
	return child.Start()
}
