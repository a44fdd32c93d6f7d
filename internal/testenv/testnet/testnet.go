// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package testnet creates other machines for tests: network namespaces connected by veth pairs.
package testnet

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// Command runs a command line, split at blanks, and returns its output. It fails the test if the
// program fails.
func Command(t testing.TB, words string) string {
	t.Helper()
	fields := strings.Fields(words)
	out, err := exec.Command(testenv.Program(t, fields[0], fields[0]), fields[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", words, err, out)
	}
	return string(out)
}

// A Host is another machine: a network namespace.
type Host struct {
	t   testing.TB
	pid int
}

// PID is a process in the host's namespace, for moving interfaces there with ip(8).
func (h *Host) PID() int { return h.pid }

// ThisHost is the machine that the test runs on.
func ThisHost(t testing.TB) *Host { return &Host{t, os.Getpid()} }

// NewHost makes a host that ends with the test.
func NewHost(t testing.TB) *Host {
	t.Helper()
	testenv.RequireIsolated(t)
	sleeper := exec.Command(testenv.Program(t, "unshare", "util-linux"), "--net", "sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if sleeper.Process.Kill() == nil { // after Become, it ends with the PID namespace
			sleeper.Wait()
		}
	})
	h := &Host{t, sleeper.Process.Pid}
	own := namespace(t, os.Getpid())
	for late := time.Now().Add(5 * time.Second); namespace(t, h.pid) == own; <-time.After(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the other host has no network of its own")
		}
	}
	h.Run("ip link set lo up")
	h.Run("sysctl -q -w net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0") // or nobody answers for a second
	h.Run("sysctl -q -w net.ipv4.icmp_ratemask=0")                                          // every refusal is answered
	h.Run("sysctl -q -w net.ipv6.icmp.ratelimit=0")
	return h
}

func namespace(t testing.TB, pid int) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Run is [Command] on the host.
func (h *Host) Run(words string) string {
	h.t.Helper()
	return Command(h.t, fmt.Sprintf("nsenter -t %d -n %s", h.pid, words))
}

// Rules loads rules of nft(8), from a file, since they contain blanks.
func (h *Host) Rules(text string) {
	h.t.Helper()
	file := h.t.TempDir() + "/rules"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	testenv.Program(h.t, "nft", "nftables")
	h.Run("nft -f " + file)
}

// Connect connects a to b by a veth pair over the networks 192.0.2.4n/30 and 2001:db8:n::/64: a
// has the first address of each, b the second.
func Connect(a, b *Host, n int) {
	a.Run("sysctl -q -w net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0")
	left, right := fmt.Sprintf("left%d", n), fmt.Sprintf("right%d", n)
	a.Run(fmt.Sprintf("ip link add %s type veth peer name %s netns %d", left, right, b.pid))
	for i, end := range []struct {
		host *Host
		name string
	}{{a, left}, {b, right}} {
		end.host.Run(fmt.Sprintf("ip addr add 192.0.2.%d/30 dev %s", 4*n+1+i, end.name))
		end.host.Run(fmt.Sprintf("ip addr add 2001:db8:%d::%d/64 dev %s nodad", n, 1+i, end.name))
		end.host.Run("ip link set " + end.name + " up")
	}
}

// Do runs f on the host. The thread it ran on is not used again.
func (h *Host) Do(f func()) {
	h.t.Helper()
	testenv.InNetworkNamespace(h.t, fmt.Sprintf("/proc/%d/ns/net", h.pid), f)
}

// Listen accepts connections at ports of all addresses of the host, and passes
// them to serve, which closes them.
func (h *Host) Listen(serve func(net.Conn), ports ...uint16) {
	h.t.Helper()
	for _, port := range ports {
		var l net.Listener
		var err error
		h.Do(func() { l, err = net.Listen("tcp", fmt.Sprintf(":%d", port)) })
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
	}
}

// Close closes a connection.
func Close(c net.Conn) { c.Close() }

// KeepOpen keeps a connection open and sends nothing.
func KeepOpen(c net.Conn) {
	c.Read(make([]byte, 1))
	c.Close()
}

// Flood writes until the other end closes the connection.
func Flood(c net.Conn) {
	for b := make([]byte, 1<<16); ; {
		if _, err := c.Write(b); err != nil {
			c.Close()
			return
		}
	}
}

// Reset closes a connection with a reset.
func Reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}
