// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"io"
	"net"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// The machine and its peer on the other end of a cable.
const (
	machine = "198.51.100.1"
	peer    = "198.51.100.2"
)

// cable makes a peer in a network namespace of its own.
func cable(t *testing.T) {
	t.Helper()
	do(t, "ip", "netns", "add", "peer")
	do(t, "ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", "peer")
	do(t, "ip", "address", "add", machine+"/24", "dev", "near")
	do(t, "ip", "link", "set", "near", "up")
	do(t, "ip", "-n", "peer", "address", "add", peer+"/24", "dev", "far")
	do(t, "ip", "-n", "peer", "link", "set", "far", "up")
}

// echo answers on a port of the machine with what it is sent.
func echo(t *testing.T) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", machine+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// fromPeer connects to an address as the peer.
func fromPeer(t *testing.T, address string) (c net.Conn, err error) {
	t.Helper()
	testenv.InNetworkNamespace(t, "/run/netns/peer", func() {
		c, err = (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
	})
	return c, err
}

// talks says whether what is sent over a connection comes back.
func talks(c net.Conn) bool {
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("hello")); err != nil {
		return false
	}
	_, err := io.ReadFull(c, make([]byte, len("hello")))
	return err == nil
}

// reaches says whether the peer can connect.
func reaches(t *testing.T, address string) bool {
	t.Helper()
	c, err := fromPeer(t, address)
	if err != nil {
		return false
	}
	defer c.Close()
	return talks(c)
}
