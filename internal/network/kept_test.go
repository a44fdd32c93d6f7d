// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/answer"
)

// manyOf are so many connections of a user with one address, from as many ports as there are.
func manyOf(uid, count int, remote string, s Socket) []Socket {
	list := make([]Socket, count)
	for i := range list {
		s.UID, s.ID = uid, uint64(i+1)
		s.Local = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i >> 16)}), uint16(i))
		s.Remote = netip.MustParseAddrPort(remote)
		list[i] = s
	}
	return list
}

// The kernel lists IPv4 before IPv6 and TCP before UDP: who fills the first hides none of the last.
func TestAnyNumberOfConnectionsHidesNoneOfOthers(t *testing.T) {
	const many = 1<<18 + 10
	tcp, inside := Socket{Protocol: TCP, State: Established}, Socket{Protocol: TCP, State: Established, Internal: true}
	over, asked := Socket{Protocol: TCP, State: TimeWait}, socket(Established, "[2001:db8::1]:40000", "[2001:db8::bad]:443", 5)
	nobodys := manyOf(0, many, "198.51.100.7:443", over)
	for i := range nobodys {
		nobodys[i].ID = 0
	}
	daemon, other := asked, asked
	daemon.UID, daemon.System, other.UID = 33, true, 1501
	for name, c := range map[string]struct {
		before []Socket
		hidden Socket
		cut    int
		whose  string
	}{
		"of a user to itself":          {manyOf(1500, many, "127.0.0.2:9", inside), asked, many - maxOfUser, "user 1500"},
		"of a user to others":          {manyOf(1500, many, "198.51.100.7:443", tcp), daemon, many - maxOfUser, "user 1500"},
		"of a user, before another's":  {manyOf(1500, many, "198.51.100.7:443", tcp), other, many - maxOfUser, "user 1500"},
		"that are over":                {nobodys, asked, many - maxOfNobody, "no process"},
		"of the system within itself":  {manyOf(0, many, "127.0.0.2:9", inside), asked, many + 1 - maxOfSystem, "the system"},
		"of two users, before a third": {slices.Concat(manyOf(1500, maxOfUser, "198.51.100.7:443", tcp), manyOf(1502, maxOfUser, "198.51.100.7:443", tcp)), other, 1, "user 1500"},
	} {
		got, gaps := collected(t, &machine{sockets: append(c.before, c.hidden)}, DefaultRows)
		if !slices.ContainsFunc(got.Flows, func(f Flow) bool { return f.Destination == "[2001:db8::bad]:443" }) ||
			!slices.ContainsFunc(got.FlowGroups, func(g FlowGroup) bool { return g.Address == "2001:db8::bad" }) {
			t.Errorf("connections %s hide another: %d flows, %d groups, %v", name, len(got.Flows), len(got.FlowGroups), gaps)
		}
		noun := "connections"
		if c.cut == 1 {
			noun = "connection"
		}
		if want := fmt.Sprintf("%d %s, of %s", c.cut, noun, c.whose); len(gaps) != 1 || gaps[0].Field != "flows" || !strings.HasPrefix(gaps[0].Reason, want) || !got.FlowsTruncated || got.FlowsTotal != len(c.before)+1 {
			t.Errorf("connections %s: truncated %v, of %d, %v, want %s", name, got.FlowsTruncated, got.FlowsTotal, gaps, want)
		}
	}
}

// Users alone give way to users, who has most of all; what is within this machine gives way to what is not.
func TestWhoHasMostConnectionsGivesWay(t *testing.T) {
	tcp, inside := Socket{Protocol: TCP, State: Established}, Socket{Protocol: TCP, State: Established, Internal: true}
	p := newPeers()
	for _, s := range slices.Concat(
		manyOf(1500, maxOfUser, "127.0.0.2:9", inside), manyOf(1500, 100, "198.51.100.7:443", tcp), manyOf(1501, maxOfUser, "198.51.100.8:443", tcp),
		manyOf(1502, 50, "198.51.100.9:443", tcp), manyOf(1503, 40, "127.0.0.3:9", inside), manyOf(0, 30, "198.51.100.10:443", tcp)) {
		p.add(s)
	}
	p.count()
	got := map[string]int{}
	for a, r := range p.byRemote {
		got[a.String()] = r.Connections
	}
	users := got["127.0.0.2"] + got["198.51.100.7"] + got["198.51.100.8"] + got["198.51.100.9"] + got["127.0.0.3"]
	if got["198.51.100.7"] != 100 || got["198.51.100.9"] != 50 || got["127.0.0.3"] != 40 || got["198.51.100.10"] != 30 || users != maxOfUsers || p.total != users+30+p.kept.cut() {
		t.Errorf("%v, of users %d, cut %d of %d", got, users, p.kept.cut(), p.total)
	}
	if got["127.0.0.2"]+100 != len(p.kept.users[1500].sockets) || p.kept.users[1500].outer != 100 {
		t.Errorf("%d of %d are with other machines", p.kept.users[1500].outer, len(p.kept.users[1500].sockets))
	}
	gaps := answer.Gaps{}
	gaps.Note("flows", p.kept.missing())
	if want := "190 connections, of user 1500, user 1501, were not looked at"; !strings.Contains(gaps[0].Reason, want) {
		t.Errorf("%v lacks %q", gaps, want)
	}
}
