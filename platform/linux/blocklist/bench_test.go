// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// inNamespace runs a benchmark in network, mount and process namespaces of its
// own, where it is run once more.
func inNamespace(b *testing.B) bool {
	b.Helper()
	if os.Getenv("SENTINEL_TEST_BLOCKING_BENCH") == b.Name() {
		return true
	}
	testenv.Namespaces(b)
	cmd := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		"/bin/sh", "-c", `ip link set lo up && exec "$@"`, "sh", os.Args[0], "-test.run=^$", "-test.bench=^"+b.Name()+"$", "-test.benchtime=100x")
	cmd.Env = append(os.Environ(), "SENTINEL_TEST_BLOCKING_BENCH="+b.Name())
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.Logf("%s", out)
	return false
}

func BenchmarkRestore20000(b *testing.B) {
	if !inNamespace(b) {
		return
	}
	all := blocksOf(time.Hour, append(numbered(4, 10_000), numbered(6, 10_000)...)...)
	for b.Loop() {
		b.StopTimer()
		exec.Command("nft", "flush", "ruleset").Run()
		b.StartTimer()
		if err := (NewNftables()).Add(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddAndFindAt20000(b *testing.B) {
	if !inNamespace(b) {
		return
	}
	n := NewNftables()
	if err := n.Add(b.Context(), blocksOf(time.Hour, append(numbered(4, 10_000), numbered(6, 10_000)...)...)); err != nil {
		b.Fatal(err)
	}
	one := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	for b.Loop() {
		if err := n.Add(b.Context(), blocksOf(time.Hour, one...)); err != nil {
			b.Fatal(err)
		}
		if _, found, effective, err := n.Find(b.Context(), one[0]); err != nil || !effective || !found {
			b.Fatal(found, effective, err)
		}
	}
}

func BenchmarkLoaded20000(b *testing.B) {
	if !inNamespace(b) {
		return
	}
	n := NewNftables()
	if err := n.Add(b.Context(), blocksOf(time.Hour, append(numbered(4, 10_000), numbered(6, 10_000)...)...)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found, _, err := n.Loaded(b.Context()); err != nil || len(found) != 20_000 {
			b.Fatal(len(found), err)
		}
	}
}

func BenchmarkRoundTripWithout(b *testing.B) { roundTrip(b, 0) }

func BenchmarkRoundTripAt10000(b *testing.B) { roundTrip(b, 10_000) }

func roundTrip(b *testing.B, n int) {
	if !inNamespace(b) {
		return
	}
	if n > 0 {
		if err := (NewNftables()).Add(b.Context(), blocksOf(time.Hour, numbered(4, n)...)); err != nil {
			b.Fatal(err)
		}
	}
	l, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.DialUDP("udp4", nil, l.LocalAddr().(*net.UDPAddr))
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		for buf := make([]byte, 64); ; {
			n, from, err := l.ReadFromUDP(buf)
			if err != nil {
				return
			}
			l.WriteToUDP(buf[:n], from)
		}
	}()
	buf := make([]byte, 64)
	for b.Loop() {
		for range 1000 {
			c.Write(buf)
			c.Read(buf)
		}
	}
}
