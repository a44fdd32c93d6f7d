// SPDX-License-Identifier: Apache-2.0

package listeners

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/network"
	"sentinel/internal/reach"
)

// sockets are those of a host; the owner of each has its place as ID.
type sockets struct {
	network.Source
	list   []network.Socket
	owners map[uint64]network.Owner
	denied bool
	err    error
}

func (s sockets) Sockets(_ context.Context, visit func(network.Socket)) error {
	for _, one := range s.list {
		visit(one)
	}
	return nil
}

func (s sockets) Owners(context.Context, []network.Socket) (map[uint64]network.Owner, bool, error) {
	return s.owners, s.denied, s.err
}

func listening(p network.Protocol, address string, id uint64) network.Socket {
	return network.Socket{Protocol: p, State: network.Listen, Local: netip.MustParseAddrPort(address), ID: id}
}

// texts are what listeners are described by.
func texts(list []Listener) (lines []string) {
	for _, l := range list {
		lines = append(lines, l.String())
	}
	return lines
}

// openAt are all sockets of a host that others can reach.
func openAt(t *testing.T, h Host) (list []Listener, err error) {
	t.Helper()
	sockets, err := h.Reachable(t.Context())
	sockets.All.Judge(func(all []Listener) audit.Finding {
		list = all
		return audit.Passed("")
	})
	return list, err
}

// wide is a packet filter that lets everything in.
func wide(string, netip.AddrPort, string) reach.Verdict {
	return reach.Verdict{Answer: reach.Reachable}
}

// ofWhom names the kernel, or a user by ID.
func ofWhom(uid int) string {
	if uid == 0 {
		return "of the kernel"
	}
	return "of user " + strconv.Itoa(uid)
}

func TestReachableHeedsThePacketFilter(t *testing.T) {
	judge := func(protocol string, local netip.AddrPort, _ string) reach.Verdict {
		switch {
		case protocol == "tcp" && local.Port() == 22:
			return reach.Verdict{Answer: reach.Filtered}
		case local.Port() == 6379:
			return reach.Verdict{Answer: reach.Reachable, Limited: true}
		default:
			return reach.Verdict{Answer: reach.Unknown, Why: "not said"}
		}
	}
	host := sockets{list: []network.Socket{
		listening(network.TCP, "0.0.0.0:22", 1), listening(network.UDP, "[::]:22", 2), listening(network.TCP, "0.0.0.0:6379", 3), listening(network.TCP, "192.0.2.1:80", 4),
	}}
	list, err := openAt(t, Host{Source: host, Judge: judge, Unowned: ofWhom})
	want := []string{"udp [::]:22: of the kernel; not said", "tcp 192.0.2.1:80: of the kernel; not said"}
	if got := texts(list); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestReachableLeavesOutLoopbackAndConnections(t *testing.T) {
	open := listening(network.TCP, "0.0.0.0:6379", 1)
	connected := open
	connected.State = network.Established
	host := sockets{
		list:   []network.Socket{open, connected, open, listening(network.TCP, "127.0.0.1:5432", 2), listening(network.UDP, "[::]:53", 3)},
		owners: map[uint64]network.Owner{1: {PID: 7, Name: "redis-server"}},
	}
	list, err := openAt(t, Host{Source: host, Judge: wide, Unowned: ofWhom})
	want := []string{"udp [::]:53: of the kernel", "tcp 0.0.0.0:6379: redis-server (process 7)"}
	if got := texts(list); err != nil || !slices.Equal(got, want) || list[1].Process != "redis-server" || list[0].Process != "" {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A socket that is on its way from one process to another is of no process for a moment, and of its user all the same.
func TestASocketOfAUserIsNotTheKernels(t *testing.T) {
	of := listening(network.TCP, "0.0.0.0:6379", 1)
	of.UID = 1500
	list, err := openAt(t, Host{Source: sockets{list: []network.Socket{of, listening(network.UDP, "0.0.0.0:2049", 2)}}, Judge: wide, Unowned: ofWhom})
	want := []string{"udp 0.0.0.0:2049: of the kernel", "tcp 0.0.0.0:6379: of user 1500"}
	if got := texts(list); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestOwnersThatAreNotSeenAreNotGuessed(t *testing.T) {
	host := sockets{list: []network.Socket{listening(network.TCP, "192.0.2.1:80", 1)}, denied: true}
	list, err := openAt(t, Host{Source: host, Judge: wide, Unowned: ofWhom})
	if want := "tcp 192.0.2.1:80: its process cannot be seen"; err != nil || len(list) != 1 || list[0].String() != want {
		t.Errorf("got %v, %v; want %s", list, err, want)
	}
	host.denied, host.err = false, &network.SkippedError{Processes: 1, Users: []int{1000}}
	if list, err := openAt(t, Host{Source: host, Judge: wide, Unowned: ofWhom}); err != nil || len(list) != 1 || list[0].owner != notSeen {
		t.Errorf("too many files to look at: %v, %v", list, err)
	}
	host.err = errors.New("lsof is gone")
	if list, err := openAt(t, Host{Source: host, Judge: wide}); !errors.Is(err, host.err) || list != nil {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestPortsNamesTheLowestOnes(t *testing.T) {
	var list []Listener
	for port := range uint16(12) {
		address := netip.AddrPortFrom(netip.IPv4Unspecified(), 112-port)
		list = append(list, Listener{Socket: network.Socket{Protocol: network.TCP, Local: address}}, Listener{Socket: network.Socket{Protocol: network.TCP, Local: address}})
	}
	count, text := Ports(list)
	want := "101/tcp, 102/tcp, 103/tcp, 104/tcp, 105/tcp, 106/tcp, 107/tcp, 108/tcp, 109/tcp, 110/tcp and 2 more"
	if count != 12 || text != want {
		t.Errorf("%d ports: %s; want 12: %s", count, text, want)
	}
}

func TestNobodyHidesThePortsOfOthers(t *testing.T) {
	list := []network.Socket{listening(network.TCP, "0.0.0.0:31337", 9)}
	for i := range uint16(3000) {
		s := network.Socket{Protocol: network.TCP, State: network.Listen, Local: netip.AddrPortFrom(netip.IPv4Unspecified(), 2000+i), UID: 1000}
		list = append([]network.Socket{s}, list...)
	}
	open, err := openAt(t, Host{Source: sockets{list: list}, Judge: wide})
	count, text := Ports(open)
	if err != nil || count != 1251 || !strings.HasSuffix(text, ", 31337/tcp and 1241 more") {
		t.Errorf("%d ports: %s, %v", count, text, err)
	}
	if lines := audit.Warned("", "").With(Evidence(open)...).Evidence; len(lines) != 1251 || !strings.Contains(lines[0], ":31337: ") {
		t.Errorf("%d lines: %q", len(lines), lines[:min(len(lines), 1)])
	}
}

// Users with servers at the ports of a rule hide none of root's: neither behind five lines, nor where all that is
// judged of users is theirs.
func TestAUserAtThePortsOfARuleHidesNoneOfRoots(t *testing.T) {
	rule := PortRule{Ports: []map[Port]string{InternalPorts}, One: "service listens", Many: "services listen"}
	var list []network.Socket
	for _, port := range []uint16{2375, 2379, 3306, 5432, 6379} {
		for uid := 1000; uid < 1008; uid++ {
			for i := range uint8(100) {
				address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(uid - 1000), i}), port)
				list = append(list, network.Socket{Protocol: network.TCP, State: network.Listen, Local: address, UID: uid})
			}
		}
	}
	sockets, err := Host{Source: sockets{list: append(list, listening(network.TCP, "0.0.0.0:27017", 1))}, Judge: wide, Rules: []PortRule{rule}, Unowned: ofWhom}.Reachable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := rule.Judge(sockets)
	if f.Status != audit.Fail || len(f.Evidence) != 2_001 || f.Evidence[0] != "tcp 0.0.0.0:27017: of the kernel" || f.Owners[0] != "" || f.Owners[1] != "1000" {
		t.Errorf("%s: %d lines, the first %q", f.Value, len(f.Evidence), f.Evidence[:min(len(f.Evidence), 2)])
	}
}

func TestPortRuleNamesEachServiceOnce(t *testing.T) {
	rule := PortRule{Ports: []map[Port]string{InternalPorts, {UDP(161): "SNMP"}}, One: "service listens", Many: "services listen", Fix: "Stop it."}
	host := sockets{list: []network.Socket{
		listening(network.TCP, "192.0.2.1:6379", 1), listening(network.TCP, "[2001:db8::1]:6379", 2), listening(network.UDP, "0.0.0.0:161", 3), listening(network.UDP, "0.0.0.0:6379", 4),
	}}
	sockets, err := Host{Source: host, Judge: wide, Rules: []PortRule{rule}}.Reachable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := rule.Judge(sockets); f.Status != audit.Fail || f.Value != "2 services listen: Redis, SNMP" || len(f.Evidence) != 3 || f.Fix != "Stop it." {
		t.Errorf("got %+v", f)
	}
	last := Sockets{Named: sockets.Named.Find(func(l Listener) bool { return l.Port() == UDP(6379) })}
	if f := rule.Judge(last); f.Status != audit.Pass {
		t.Errorf("UDP port 6379 is Redis: %+v", f)
	}
}

// manyAt adds n sockets from a port on.
func manyAt(list []network.Socket, n int, port uint16) []network.Socket {
	for i := range n {
		address := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		list = append(list, network.Socket{Protocol: network.TCP, State: network.Listen, Local: netip.AddrPortFrom(address, port), ID: uint64(i + 1)})
	}
	return list
}

// Whoever opens any number of sockets keeps none from being judged that only root opens, and makes
// no check pass.
func TestAFloodOfSocketsHidesNone(t *testing.T) {
	rule := PortRule{Ports: []map[Port]string{{TCP(23): "telnet", TCP(6000): "X11"}}, One: "service listens", Many: "services listen"}
	telnet := listening(network.TCP, "0.0.0.0:23", 1)
	x11 := listening(network.TCP, "0.0.0.0:6000", 2)
	onlyWeb := func(_ string, local netip.AddrPort, _ string) reach.Verdict {
		if local.Port() == 23 || local == x11.Local {
			return reach.Verdict{Answer: reach.Reachable}
		}
		return reach.Verdict{Answer: reach.Filtered}
	}
	for _, c := range []struct {
		what   string
		list   []network.Socket
		status audit.Status
		says   string
	}{
		{"telnet behind a flood", append(manyAt(nil, 40_000, 40_000), telnet), audit.Fail, "1 service listens: telnet"},
		{"no service, and a flood elsewhere", manyAt(nil, 40_000, 40_000), audit.Pass, "None"},
		{"telnet behind a flood at a port of a rule", append(manyAt(nil, 40_000, 6000), telnet), audit.Fail, "1 service listens: telnet; not all was read: more than 2000 sockets listen"},
		{"X11 behind a flood at its own port", append(manyAt(nil, 40_000, 6000), x11), "", "more than 2000 sockets listen"},
	} {
		sockets, err := Host{Source: sockets{list: c.list}, Judge: onlyWeb, Rules: []PortRule{rule}}.Reachable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := rule.Judge(sockets); f.Status != c.status || f.Value+f.Reason != c.says {
			t.Errorf("%s: %+v", c.what, f)
		}
		if f := sockets.All.Judge(func([]Listener) audit.Finding { return audit.Passed("") }); f.Status == audit.Pass {
			t.Errorf("%s: a flood passes", c.what)
		}
	}
}
