// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/testenv/testnet"

	"github.com/google/go-cmp/cmp"
)

// A networkDocument is what these tests read of sentinel --network-stats.
type networkDocument struct {
	Stats struct {
		Interfaces []struct {
			Name string `json:"name"`
			counters
			Loopback      bool   `json:"loopback"`
			SentPerSecond *int64 `json:"bytes_sent_per_second"`
			RecvPerSecond *int64 `json:"bytes_recv_per_second"`
		} `json:"interfaces"`
		TotalBytesSent uint64           `json:"total_bytes_sent"`
		TotalBytesRecv uint64           `json:"total_bytes_recv"`
		Connections    connectionCounts `json:"connections"`
	} `json:"stats"`
}

// counters are those of one line of /proc/net/dev, by sentinel's names.
type counters struct {
	BytesSent   uint64 `json:"bytes_sent"`
	BytesRecv   uint64 `json:"bytes_recv"`
	PacketsSent uint64 `json:"packets_sent"`
	PacketsRecv uint64 `json:"packets_recv"`
	ErrorsIn    uint64 `json:"errors_in"`
	ErrorsOut   uint64 `json:"errors_out"`
	DropsIn     uint64 `json:"drops_in"`
	DropsOut    uint64 `json:"drops_out"`
}

// kernelCounters reads /proc/net/dev: bytes packets errs drop of what came in
// are columns 0 to 3, of what went out 8 to 11 (proc_pid_net(5)).
func kernelCounters(t *testing.T) map[string]counters {
	t.Helper()
	raw, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]counters{}
	for line := range strings.Lines(string(raw)) {
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		var n [16]uint64
		for i, field := range strings.Fields(rest) {
			if n[i], err = strconv.ParseUint(field, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all[strings.TrimSpace(name)] = counters{
			BytesRecv: n[0], PacketsRecv: n[1], ErrorsIn: n[2], DropsIn: n[3],
			BytesSent: n[8], PacketsSent: n[9], ErrorsOut: n[10], DropsOut: n[11],
		}
	}
	return all
}

// The two ends of a virtual cable. Nothing but the test's own packets runs over
// it: IPv6 is off and both know the other's hardware address.
const (
	near, nearMAC, nearIP = "near0", "02:00:5e:10:00:01", "192.0.2.1"
	far, farMAC, farIP    = "far0", "02:00:5e:10:00:02", "192.0.2.2"

	// frameHeaders is what stands around the data of a UDP packet and is counted
	// by an interface: Ethernet, IPv4 and UDP headers.
	frameHeaders = 14 + 20 + 8
)

func TestInterfaceCountersAreThoseOfTheKernel(t *testing.T) {
	needTool(t, "ip", "iproute2")
	if !inside(t) {
		return
	}
	peer := connectPeer(t)
	if err := sendPackets(nearIP, farIP, 300, 1000); err != nil {
		t.Fatal(err)
	}
	var err error
	if peer.Do(func() { err = sendPackets(farIP, nearIP, 200, 400) }); err != nil {
		t.Fatal(err)
	}
	if err := sendPackets("127.0.0.1", "127.0.0.1", 50, 100); err != nil {
		t.Fatal(err)
	}
	var d networkDocument
	var want map[string]counters
	eventually(t, func() string {
		before := kernelCounters(t)
		d = networkDocument{}
		askSentinel(t, &d, "--network-stats", "--json")
		want = kernelCounters(t)
		return cmp.Diff(before, want)
	})
	sent := counters{
		BytesSent: 300 * (1000 + frameHeaders), PacketsSent: 300,
		BytesRecv: 200 * (400 + frameHeaders), PacketsRecv: 200,
	}
	if diff := cmp.Diff(sent, want[near]); diff != "" {
		t.Fatalf("the kernel did not count what was sent (-sent +kernel):\n%s", diff)
	}
	checkInterfaces(t, d, want)
}

func checkInterfaces(t *testing.T, d networkDocument, want map[string]counters) {
	t.Helper()
	got := map[string]counters{}
	for _, i := range d.Stats.Interfaces {
		got[i.Name] = i.counters
		if i.Loopback != (i.Name == "lo") {
			t.Errorf("%s: loopback is %v", i.Name, i.Loopback)
		}
		if i.SentPerSecond == nil || i.RecvPerSecond == nil || *i.SentPerSecond != 0 || *i.RecvPerSecond != 0 {
			t.Errorf("%s: there are rates while nothing was sent", i.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counters (-kernel +sentinel):\n%s", diff)
	}
	if want["lo"].BytesSent == 0 {
		t.Error("nothing went over loopback, so whether the totals include it is not shown")
	}
	if d.Stats.TotalBytesSent != want[near].BytesSent || d.Stats.TotalBytesRecv != want[near].BytesRecv {
		t.Errorf("totals are %d and %d, without loopback they are %d and %d",
			d.Stats.TotalBytesSent, d.Stats.TotalBytesRecv, want[near].BytesSent, want[near].BytesRecv)
	}
}

// connectPeer connects this network namespace to another. A socket at either end
// receives the packets: for a closed port the kernel would answer.
func connectPeer(t *testing.T) *testnet.Host {
	t.Helper()
	here, peer := testnet.ThisHost(t), testnet.NewHost(t)
	for _, h := range []*testnet.Host{here, peer} {
		h.Run("sysctl -q -w net.ipv6.conf.default.disable_ipv6=1") // or interfaces announce themselves
		h.Do(func() { receive(t) })
	}
	here.Run("ip link add " + near + " address " + nearMAC + " type veth peer name " + far + " address " + farMAC)
	here.Run("ip link set " + far + " netns " + strconv.Itoa(peer.PID()))
	here.Run("ip address add " + nearIP + "/24 dev " + near)
	here.Run("ip neigh add " + farIP + " lladdr " + farMAC + " dev " + near)
	here.Run("ip link set " + near + " up")
	peer.Run("ip address add " + farIP + "/24 dev " + far)
	peer.Run("ip neigh add " + nearIP + " lladdr " + nearMAC + " dev " + far)
	peer.Run("ip link set " + far + " up")
	eventually(t, func() string { return notReady(here.Run("ip -o link show " + near)) })
	eventually(t, func() string { return notReady(peer.Run("ip -o link show " + far)) })
	return peer
}

// receive opens a socket at the discard port. Nothing is read from it.
func receive(t *testing.T) {
	t.Helper()
	sink, err := net.ListenPacket("udp4", ":9")
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { sink.Close() })
}

// notReady says what an interface lacks before it carries packets, "" when it
// does. The kernel gives it its queue a while after both ends were switched on; until then it
// drops what is sent.
func notReady(link string) string {
	if strings.Contains(link, " state UP ") && !strings.Contains(link, " qdisc noop ") {
		return ""
	}
	return "the link is not ready: " + link
}

// sendPackets sends UDP packets to the discard port.
func sendPackets(from, to string, count, size int) error {
	d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("udp", net.JoinHostPort(to, "9"))
	if err != nil {
		return err
	}
	defer c.Close() // what was sent is counted
	data := make([]byte, size)
	for range count {
		if _, err := c.Write(data); err != nil {
			return err
		}
	}
	return nil
}
