// SPDX-License-Identifier: Apache-2.0

package listeners

import (
	"context"
	"errors"
	"net/netip"
	"slices"
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

func (s sockets) Owners(context.Context, []uint64) (map[uint64]network.Owner, bool, error) {
	return s.owners, s.denied, s.err
}

func listening(p network.Protocol, address string, id uint64) network.Socket {
	return network.Socket{Protocol: p, State: network.Listen, Local: netip.MustParseAddrPort(address), ID: id}
}

func all(network.Socket) bool { return true }

// wide is a packet filter that lets everything in.
func wide(string, netip.AddrPort, string) reach.Verdict {
	return reach.Verdict{Answer: reach.Reachable}
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
	list, err := Reachable(t.Context(), host, judge, all, "of the kernel")
	want := []string{"udp [::]:22: of the kernel; not said", "tcp 192.0.2.1:80: of the kernel; not said"}
	if got := Evidence(list); err != nil || !slices.Equal(got, want) {
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
	list, err := Reachable(t.Context(), host, wide, all, "of the kernel")
	want := []string{"udp [::]:53: of the kernel", "tcp 0.0.0.0:6379: redis-server (process 7)"}
	if got := Evidence(list); err != nil || !slices.Equal(got, want) || list[1].Process != "redis-server" || list[0].Process != "" {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	none, err := Reachable(t.Context(), host, wide, func(s network.Socket) bool { return s.Local.Port() > 6379 }, "")
	if err != nil || len(none) != 0 {
		t.Errorf("kept %v, %v", none, err)
	}
}

func TestOwnersThatAreNotSeenAreNotGuessed(t *testing.T) {
	host := sockets{list: []network.Socket{listening(network.TCP, "192.0.2.1:80", 1)}, denied: true}
	list, err := Reachable(t.Context(), host, wide, all, "of the kernel")
	if want := "tcp 192.0.2.1:80: its process cannot be seen"; err != nil || len(list) != 1 || list[0].String() != want {
		t.Errorf("got %v, %v; want %s", list, err, want)
	}
	host.err = errors.New("lsof is gone")
	if list, err := Reachable(t.Context(), host, wide, all, ""); !errors.Is(err, host.err) || list != nil {
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
	want := "101/tcp, 102/tcp, 103/tcp, 104/tcp, 105/tcp, 106/tcp, 107/tcp, 108/tcp, 109/tcp, 110/tcp and more"
	if count != 12 || text != want {
		t.Errorf("%d ports: %s; want 12: %s", count, text, want)
	}
}

func TestPortRuleNamesEachServiceOnce(t *testing.T) {
	rule := PortRule{Ports: []map[Port]string{InternalPorts, {UDP(161): "SNMP"}}, One: "service listens", Many: "services listen", Fix: "Stop it."}
	host := sockets{list: []network.Socket{
		listening(network.TCP, "192.0.2.1:6379", 1), listening(network.TCP, "[2001:db8::1]:6379", 2), listening(network.UDP, "0.0.0.0:161", 3), listening(network.UDP, "0.0.0.0:6379", 4),
	}}
	list, err := Reachable(t.Context(), host, wide, all, "")
	if err != nil {
		t.Fatal(err)
	}
	if f := rule.Judge(list); f.Status != audit.Fail || f.Value != "2 services listen: Redis, SNMP" || len(f.Evidence) != 3 || f.Fix != "Stop it." {
		t.Errorf("got %+v", f)
	}
	if f := rule.Judge(list[3:]); f.Status != audit.Pass || list[3].Port() != UDP(6379) {
		t.Errorf("UDP port 6379 is Redis: %+v", f)
	}
}
