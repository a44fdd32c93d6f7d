// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/reach"
)

// machine is a fake Source.
type machine struct {
	sockets    []Socket
	owners     map[uint64]Owner
	denied     bool
	socketsErr error
	ownersErr  error
	asked      []uint64 // ids whose owners were requested
	interfaces [][]Interface
	calls      int
}

func (m *machine) Sockets(_ context.Context, visit func(Socket)) error {
	for _, s := range m.sockets {
		visit(s)
	}
	return m.socketsErr
}

func (m *machine) Owners(_ context.Context, sockets []Socket) (map[uint64]Owner, bool, error) {
	for _, s := range sockets {
		m.asked = append(m.asked, s.ID)
	}
	return m.owners, m.denied, m.ownersErr
}

func (m *machine) Interfaces(context.Context) ([]Interface, error) {
	m.calls++
	if m.calls > len(m.interfaces) {
		return nil, errors.New("no counters")
	}
	return m.interfaces[m.calls-1], nil
}

func socket(state State, local, remote string, id uint64) Socket {
	return Socket{Protocol: TCP, State: state, Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort(remote), ID: id}
}

func collected(t *testing.T, m *machine, rows int) (Connections, answer.Gaps) {
	t.Helper()
	gaps := answer.Gaps{}
	c, err := Collect(t.Context(), m, rows, &gaps)
	if err != nil {
		t.Fatal(err)
	}
	return c, gaps
}

func TestFlowsAreOrderedByWhatAPersonAsksFirst(t *testing.T) {
	m := &machine{sockets: []Socket{
		socket(TimeWait, "192.0.2.1:1", "203.0.113.1:443", 0),
		socket(Established, "192.0.2.1:2", "10.0.0.9:443", 2),
		socket(Established, "127.0.0.1:3", "127.0.0.1:443", 3),
		socket(Established, "192.0.2.1:9", "203.0.113.9:443", 4),
		socket(Established, "192.0.2.1:4", "203.0.113.9:443", 5),
		socket(Established, "192.0.2.1:5", "203.0.113.9:80", 6),
		socket(Established, "[2001:db8::1]:6", "[2001:db8::9]:443", 7),
		socket(SynSent, "192.0.2.1:7", "192.168.1.1:22", 8),
		socket(Established, "[fe80::1%eth0]:8", "[fe80::2%eth0]:443", 9),
		socket(Established, "192.0.2.1:8", "[fd00::1]:443", 10),
	}}
	every := []string{
		"192.0.2.1:5 203.0.113.9:80", "192.0.2.1:4 203.0.113.9:443", "192.0.2.1:9 203.0.113.9:443", "[2001:db8::1]:6 [2001:db8::9]:443",
		"192.0.2.1:2 10.0.0.9:443", "127.0.0.1:3 127.0.0.1:443", "192.0.2.1:8 [fd00::1]:443", "[fe80::1%eth0]:8 [fe80::2%eth0]:443",
		"192.0.2.1:1 203.0.113.1:443", "192.0.2.1:7 192.168.1.1:22",
	}
	c, _ := collected(t, m, 0)
	if diff := cmp.Diff(every, flows(c)); diff != "" || c.FlowsTruncated {
		t.Errorf("all of them, truncated %v: %s", c.FlowsTruncated, diff)
	}
	grouped := []string{
		"192.0.2.1:4 203.0.113.9:443", "[2001:db8::1]:6 [2001:db8::9]:443", "192.0.2.1:5 203.0.113.9:80",
		"192.0.2.1:2 10.0.0.9:443", "127.0.0.1:3 127.0.0.1:443", "192.0.2.1:8 [fd00::1]:443", "[fe80::1%eth0]:8 [fe80::2%eth0]:443",
		"192.0.2.1:7 192.168.1.1:22",
	}
	c, _ = collected(t, m, 50)
	if diff := cmp.Diff(grouped, flows(c)); diff != "" || c.FlowsTruncated || c.FlowsTotal != 10 || c.TimeWait != 1 {
		t.Errorf("%d, %d in TIME_WAIT, truncated %v: %s", c.FlowsTotal, c.TimeWait, c.FlowsTruncated, diff)
	}
}

// A server with thousands of clients from one address still shows who else is there, and a program
// that reaches out.
func TestOneAddressWithManyConnectionsHidesNoOther(t *testing.T) {
	m := &machine{sockets: []Socket{socket(Listen, "0.0.0.0:443", "0.0.0.0:0", 1)}, owners: map[uint64]Owner{}}
	for i := range 4000 {
		m.sockets = append(m.sockets, socket(Established, "192.0.2.1:443", fmt.Sprintf("198.51.100.1:%d", 1024+i), uint64(10+i)))
		m.owners[uint64(10+i)] = Owner{PID: 700 + i%2, Name: "nginx"}
	}
	for i := range 300 {
		m.sockets = append(m.sockets, socket(TimeWait, "192.0.2.1:443", fmt.Sprintf("198.51.100.1:%d", 6000+i), 0))
	}
	m.sockets = append(m.sockets,
		socket(SynReceived, "192.0.2.1:443", "198.51.100.7:5", 0),
		socket(Established, "192.0.2.1:443", "198.51.100.2:7", 5001), socket(Established, "192.0.2.1:40000", "198.51.100.3:6667", 5002))
	m.owners[5001], m.owners[5002] = Owner{PID: 700, Name: "nginx"}, Owner{PID: 900, Name: "sh"}
	c, _ := collected(t, m, DefaultRows)
	want := []Flow{
		{PID: 900, ProcessName: "sh", Source: "192.0.2.1:40000", Destination: "198.51.100.3:6667", Status: Established, Protocol: TCP},
		{PID: 700, ProcessName: "nginx", Source: "192.0.2.1:443", Destination: "198.51.100.1:1024", Status: Established, Protocol: TCP},
		{PID: 701, ProcessName: "nginx", Source: "192.0.2.1:443", Destination: "198.51.100.1:1025", Status: Established, Protocol: TCP},
		{PID: 700, ProcessName: "nginx", Source: "192.0.2.1:443", Destination: "198.51.100.2:7", Status: Established, Protocol: TCP},
		{Source: "192.0.2.1:443", Destination: "198.51.100.7:5", Status: SynReceived, Protocol: TCP},
	}
	if diff := cmp.Diff(want, c.Flows); diff != "" || c.FlowsTruncated || c.FlowsTotal != 4303 || c.TimeWait != 300 {
		t.Errorf("%d, %d in TIME_WAIT, truncated %v: %s", c.FlowsTotal, c.TimeWait, c.FlowsTruncated, diff)
	}
	groups := []FlowGroup{
		{Address: "198.51.100.1", Connections: 4300, Established: 4000, TimeWait: 300},
		{Address: "198.51.100.2", Connections: 1, Established: 1}, {Address: "198.51.100.3", Connections: 1, Established: 1},
		{Address: "198.51.100.7", Connections: 1, SynReceived: 1},
	}
	if diff := cmp.Diff(groups, c.FlowGroups); diff != "" || c.FlowGroupsTotal != 4 {
		t.Errorf("%d groups: %s", c.FlowGroupsTotal, diff)
	}
	if c, _ := collected(t, m, 2); len(c.Flows) != 2 || !c.FlowsTruncated || len(c.FlowGroups) != 2 || c.FlowGroupsTotal != 4 {
		t.Errorf("two rows: %+v", c)
	}
}

func flows(c Connections) (list []string) {
	for _, f := range c.Flows {
		list = append(list, f.Source+" "+f.Destination)
	}
	return list
}

// The same sockets are shown, whatever order the kernel lists them in.
func TestShownFlowsDoNotDependOnTheKernelsOrder(t *testing.T) {
	m := &machine{}
	for i := range 997 {
		state := Established
		if i%3 == 0 {
			state = TimeWait
		}
		m.sockets = append(m.sockets, socket(state, "192.0.2.1:1", fmt.Sprintf("203.0.113.%d:%d", i%250, i), uint64(i+1)))
	}
	all, _ := collected(t, m, 0)
	grouped, _ := collected(t, m, 998)
	for range 20 {
		rand.Shuffle(len(m.sockets), func(i, j int) { m.sockets[i], m.sockets[j] = m.sockets[j], m.sockets[i] })
		if c, _ := collected(t, m, 0); !slices.Equal(flows(c), flows(all)) || len(c.Flows) != 997 {
			t.Fatalf("every one: %s", cmp.Diff(flows(all), flows(c)))
		}
		for _, rows := range []int{1, 2, 50, 663, 664, 665} {
			c, _ := collected(t, m, rows)
			want := flows(grouped)[:min(rows, 664)]
			if !slices.Equal(flows(c), want) || c.FlowsTotal != 997 || c.TimeWait != 333 || c.FlowsTruncated != (rows < 664) {
				t.Fatalf("%d rows: total %d, truncated %v\n%s", rows, c.FlowsTotal, c.FlowsTruncated, cmp.Diff(want, flows(c)))
			}
		}
	}
}

func TestListenersShowWhetherOthersReachThem(t *testing.T) {
	udp := socket(Listen, "0.0.0.0:53", "0.0.0.0:0", 9)
	udp.Protocol = UDP
	web, shell := socket(Listen, "0.0.0.0:443", "0.0.0.0:0", 3), socket(Listen, "[::]:22", "[::]:0", 4)
	web.UID, shell.UID = 33, 1001
	m := &machine{
		sockets: []Socket{
			socket(Listen, "127.0.0.1:5432", "0.0.0.0:0", 1), socket(Listen, "[::1]:631", "[::]:0", 2), web,
			shell, socket(Listen, "192.0.2.1:22", "0.0.0.0:0", 5), socket(Listen, "127.8.9.1:25", "0.0.0.0:0", 6), udp,
		},
		owners: map[uint64]Owner{4: {PID: 802, Name: "sshd"}},
	}
	want := []Listener{
		{Address: "192.0.2.1:22", Protocol: TCP, Exposed: true},
		{PID: 802, ProcessName: "sshd", User: "1001", Address: "[::]:22", Protocol: TCP, Exposed: true},
		{UID: 33, User: "33", Address: "0.0.0.0:443", Protocol: TCP, Exposed: true},
		{Address: "0.0.0.0:53", Protocol: UDP, Exposed: true},
		{Address: "127.8.9.1:25", Protocol: TCP},
		{Address: "[::1]:631", Protocol: TCP},
		{Address: "127.0.0.1:5432", Protocol: TCP},
	}
	c, _ := collected(t, m, 0)
	if diff := cmp.Diff(want, c.Listening); diff != "" || len(c.Flows) != 0 || c.Flows == nil {
		t.Errorf("flows %v\n%s", c.Flows, diff)
	}
	if c, _ := collected(t, m, 3); len(c.Listening) != 3 || c.ListeningTotal != 7 || !c.ListeningTruncated || c.FlowsTruncated {
		t.Errorf("three rows: %+v", c)
	}
}

// Whoever opens any number of sockets hides none of root's, and none of another user.
func TestNobodyHidesTheSocketsOfOthers(t *testing.T) {
	m := &machine{}
	for i := range 400 {
		s := socket(Listen, fmt.Sprintf("0.0.0.0:%d", 2000+i), "0.0.0.0:0", uint64(i+1))
		c := socket(Established, "192.0.2.1:40000", fmt.Sprintf("198.51.100.%d:%d", i%250, 1000+i), uint64(i+1000))
		s.UID, c.UID = 65534, 65534
		m.sockets = append(m.sockets, s, c)
	}
	back, other := socket(Listen, "0.0.0.0:31337", "0.0.0.0:0", 901), socket(Listen, "127.0.0.1:9000", "0.0.0.0:0", 902)
	out := socket(Established, "192.0.2.1:40000", "203.0.113.250:443", 903)
	other.UID = 1000
	m.sockets = append(m.sockets, back, other, out)
	c, _ := collected(t, m, DefaultRows)
	has := func(address string) bool {
		return slices.ContainsFunc(c.Listening, func(l Listener) bool { return l.Address == address })
	}
	if !has("0.0.0.0:31337") || !has("127.0.0.1:9000") || !has("0.0.0.0:2000") || len(c.Listening) != DefaultRows || c.ListeningTotal != 402 || !c.ListeningTruncated {
		t.Errorf("%d of %d listen: %+v", len(c.Listening), c.ListeningTotal, c.Listening)
	}
	if !slices.ContainsFunc(c.Flows, func(f Flow) bool { return f.Destination == "203.0.113.250:443" }) || len(c.Flows) != DefaultRows {
		t.Errorf("%+v", c.Flows)
	}
	few := FewerListeners(c.Listening, 5)
	if !slices.ContainsFunc(few, func(l Listener) bool { return l.Address == "0.0.0.0:31337" }) || len(few) != 5 || len(FewerFlows(c.Flows, 5)) != 5 || FewerFlows(c.Flows, 5)[4].Destination != "203.0.113.250:443" {
		t.Errorf("of fewer rows: %+v", few)
	}
	if c, _ = collected(t, m, 0); len(c.Listening) != 402 || c.ListeningTruncated {
		t.Errorf("%d of all", len(c.Listening))
	}
}

// Neither with many processes at each of many other ends nor with connections to the same one.
func TestNobodyHidesTheConnectionsOfOthers(t *testing.T) {
	out := socket(Established, "192.0.2.1:40000", "203.0.113.250:443", 903)
	many := &machine{sockets: []Socket{out}, owners: map[uint64]Owner{}}
	for i := range 80 {
		s := socket(Established, fmt.Sprintf("192.0.2.1:%d", 2000+i), fmt.Sprintf("198.51.100.%d:443", i/askedOfEach), uint64(i+1))
		s.UID = 1000
		many.sockets, many.owners[s.ID] = append(many.sockets, s), Owner{PID: 100 + i}
	}
	same := &machine{sockets: []Socket{out}, owners: map[uint64]Owner{}}
	for i := range askedOfEach {
		s := socket(Established, fmt.Sprintf("192.0.2.1:%d", 2000+i), "203.0.113.250:443", uint64(i+1))
		s.UID = 1000
		same.sockets = append(same.sockets, s)
	}
	for _, c := range []struct {
		m         *machine
		rows      int
		truncated bool
	}{{many, DefaultRows, true}, {same, 2, false}} {
		got, _ := collected(t, c.m, DefaultRows)
		if !slices.Contains(flows(got), "192.0.2.1:40000 203.0.113.250:443") || len(got.Flows) != c.rows || got.FlowsTruncated != c.truncated {
			t.Errorf("truncated %v: %q", got.FlowsTruncated, flows(got))
		}
	}
}

// Loopback is judged by nobody, and each reason for not knowing is told once.
func TestListenersAreJudgedByThePacketFilter(t *testing.T) {
	m := &machine{owners: map[uint64]Owner{4: {PID: 802, Name: "sshd"}}}
	for i, address := range []string{"127.0.0.1:25", "0.0.0.0:80", "[::]:22", "192.0.2.1:443", "[fe80::1%eth0]:53", "0.0.0.0:111"} {
		m.sockets = append(m.sockets, socket(Listen, address, "0.0.0.0:0", uint64(i+2)))
	}
	c, _ := collected(t, m, 0)
	gaps := answer.Gaps{}
	c.JudgeReach(func(protocol string, local netip.AddrPort, process string) reach.Verdict {
		switch {
		case protocol != "tcp" || local.Addr().IsLoopback():
			t.Errorf("asked for %s %s", protocol, local)
		case local.Port() == 22:
			return reach.Verdict{Answer: reach.Reachable, Limited: process == "sshd"}
		case local.Port() == 80:
			return reach.Verdict{Answer: reach.Filtered}
		}
		return reach.Verdict{Answer: reach.Unknown, Why: "the rules are secret"}
	}, &gaps)
	got := map[string]string{}
	for _, l := range c.Listening {
		got[l.Address] = fmt.Sprint(l.Reach, " ", l.ReachLimited)
	}
	want := map[string]string{
		"127.0.0.1:25": " false", "0.0.0.0:80": "filtered false", "[::]:22": "reachable true",
		"192.0.2.1:443": "unknown false", "[fe80::1%eth0]:53": "unknown false", "0.0.0.0:111": "unknown false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(answer.Gaps{{Field: "listening.reach", Reason: "the rules are secret"}}, gaps); diff != "" {
		t.Error(diff)
	}
}

func TestOwnersAreLookedUpForShownRowsOnly(t *testing.T) {
	m := &machine{}
	for i := range 5000 {
		m.sockets = append(m.sockets,
			socket(Established, "192.0.2.1:1", fmt.Sprintf("203.0.113.%d:%d", i%250, i), uint64(i+1)),
			socket(Listen, fmt.Sprintf("0.0.0.0:%d", i+1), "0.0.0.0:0", uint64(i+10001)),
			socket(TimeWait, "192.0.2.1:1", fmt.Sprintf("203.0.113.%d:%d", i%250, i), 0))
	}
	collected(t, m, DefaultRows)
	if len(m.asked) != (askedOfEach+1)*DefaultRows || slices.Contains(m.asked, 0) {
		t.Errorf("asked for %d ids, 0 among them: %v", len(m.asked), slices.Contains(m.asked, 0))
	}
}

func TestMissingOwnersAreGapsAndNotNobody(t *testing.T) {
	list := []Socket{socket(Established, "192.0.2.1:1", "203.0.113.1:1", 1), socket(Established, "192.0.2.1:2", "203.0.113.1:2", 2), socket(TimeWait, "192.0.2.1:3", "203.0.113.1:3", 0)}
	both := map[uint64]Owner{1: {PID: 1}, 2: {PID: 2}}
	for name, c := range map[string]struct {
		m    machine
		want string
	}{
		"all found":              {machine{owners: both}, ""},
		"all found, some denied": {machine{owners: both, denied: true}, ""},
		"none, none denied":      {machine{}, ""},
		"one missing, denied":    {machine{owners: map[uint64]Owner{1: {PID: 1}}, denied: true}, "without root (CAP_SYS_PTRACE)"},
		"no owners at all":       {machine{ownersErr: errors.New("no /proc")}, "no /proc"},
	} {
		c.m.sockets = list
		got, gaps := collected(t, &c.m, 0)
		if c.want == "" && len(gaps) != 0 || c.want != "" && (len(gaps) != 1 || gaps[0].Field != "flows.pid" || !strings.Contains(gaps[0].Reason, c.want)) {
			t.Errorf("%s: gaps %v", name, gaps)
		}
		if got.Flows[2].PID != 0 {
			t.Errorf("%s: a socket without a process belongs to %d", name, got.Flows[2].PID)
		}
	}
}

func TestMissingOwnersAreNamedWhereTheyAreMissing(t *testing.T) {
	list := []Socket{
		socket(Established, "192.0.2.1:1", "203.0.113.1:1", 1), socket(TimeWait, "192.0.2.1:2", "203.0.113.1:2", 0),
		socket(Listen, "192.0.2.1:3", "0.0.0.0:0", 2), socket(Listen, "192.0.2.1:4", "0.0.0.0:0", 0),
	}
	flow, listener := Owner{PID: 1}, Owner{PID: 2}
	for name, c := range map[string]struct {
		m    machine
		want []string
	}{
		"a listener":            {machine{owners: map[uint64]Owner{1: flow}, denied: true}, []string{"listening.pid"}},
		"a flow":                {machine{owners: map[uint64]Owner{2: listener}, denied: true}, []string{"flows.pid"}},
		"both":                  {machine{denied: true}, []string{"flows.pid", "listening.pid"}},
		"no /proc":              {machine{ownersErr: errors.New("no /proc")}, []string{"flows.pid", "listening.pid"}},
		"a listener, cut short": {machine{owners: map[uint64]Owner{1: flow}, ownersErr: errors.New("late")}, []string{"listening.pid"}},
		"none":                  {machine{owners: map[uint64]Owner{1: flow, 2: listener}, denied: true}, nil},
	} {
		c.m.sockets = list
		_, gaps := collected(t, &c.m, 0)
		var got []string
		for _, g := range gaps {
			got = append(got, g.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSocketsThatCannotBeReadAreNoAnswer(t *testing.T) {
	m := &machine{socketsErr: errors.New("half a list"), sockets: []Socket{socket(Established, "192.0.2.1:1", "203.0.113.1:1", 1)}}
	gaps := answer.Gaps{}
	if c, err := Collect(t.Context(), m, 0, &gaps); err == nil || len(m.asked) != 0 {
		t.Errorf("got %+v, asked for %v", c, m.asked)
	}
}

func TestNamesInConnectionsHoldNoEscapes(t *testing.T) {
	m := &machine{
		sockets: []Socket{
			socket(Established, "[fe80::1%\x1b[31m\u202e]:1", "[fe80::2%a\nb]:2", 1), socket(Listen, "[fe80::1%\x07\u200b]:1", "[::]:0", 2),
		},
		owners: map[uint64]Owner{1: {PID: 1, Name: "\x1b[2Jx"}, 2: {PID: 2, Name: "a\nb" + strings.Repeat("c", 100)}},
	}
	c, _ := collected(t, m, 0)
	for _, text := range []string{c.Flows[0].Source, c.Flows[0].Destination, c.Flows[0].ProcessName, c.Listening[0].Address, c.Listening[0].ProcessName} {
		if strings.ContainsAny(text, "\x1b\x07\n\u202e\u200b") || len([]rune(text)) > 96 {
			t.Errorf("%q", text)
		}
	}
}

func FuzzTopList(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 1, 9}, 2)
	f.Fuzz(func(t *testing.T, ports []byte, rows int) {
		rows = min(max(rows, 0), 20)
		l := &topList{rows: rows}
		var all []Socket
		for i, p := range ports {
			s := socket(Listen, fmt.Sprintf("192.0.2.1:%d", p), "0.0.0.0:0", uint64(i))
			all = append(all, s)
			l.add(s)
		}
		slices.SortFunc(all, byExposure)
		if rows > 0 {
			all = all[:min(rows, len(all))]
		}
		if !slices.Equal(l.sorted(), all) {
			t.Errorf("%d rows of %v: %v", rows, ports, l.sorted())
		}
	})
}

// Neither talking to oneself nor to any number of addresses hides whom others talk to.
func TestNobodyHidesAnAddressWithManyConnections(t *testing.T) {
	flood := func(m *machine, uid, count int, state State, local, remote string, internal bool) {
		for n := range count {
			s := socket(state, local, fmt.Sprintf(remote, 1024+n), uint64(len(m.sockets)+1))
			s.UID, s.Internal = uid, internal
			m.sockets = append(m.sockets, s)
		}
	}
	withServer := func() *machine {
		m := &machine{sockets: []Socket{socket(Listen, "0.0.0.0:443", "0.0.0.0:0", 1)}}
		flood(m, 0, 400, SynReceived, "192.0.2.1:443", "198.51.100.7:%d", false)
		return m
	}
	itself, many, over, served, joined := withServer(), withServer(), withServer(), withServer(), withServer()
	flood(joined, 1000, 450, Established, "192.0.2.1:40000", "198.51.100.7:%d", false)
	mine := socket(Listen, "0.0.0.0:3000", "0.0.0.0:0", 9999)
	mine.UID = 1000
	served.sockets = append(served.sockets, mine)
	for n := range 6 {
		flood(itself, 1000, 500, Established, "127.0.0.1:40000", fmt.Sprintf("127.0.0.%d:%%d", n+2), true)
		flood(many, 1000, 500, Established, "192.0.2.1:40000", fmt.Sprintf("203.0.113.%d:%%d", n), false)
		flood(over, 0, 500, TimeWait, "192.0.2.1:40000", fmt.Sprintf("203.0.113.%d:%%d", n), false)
		flood(served, 0, 500, TimeWait, "192.0.2.1:3000", fmt.Sprintf("203.0.113.%d:%%d", n), false)
	}
	for n := range 6 {
		flood(joined, 1000, 900, Established, "192.0.2.1:40000", fmt.Sprintf("203.0.113.%d:%%d", n), false)
	}
	outside := []string{"203.0.113.0", "203.0.113.1", "203.0.113.2", "203.0.113.3", "198.51.100.7"}
	for name, c := range map[string]struct {
		m    *machine
		want []string
	}{
		"of a user to itself":                 {itself, []string{"198.51.100.7", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}},
		"of a user to many addresses":         {many, outside},
		"of a user to the flooder as well":    {joined, outside},
		"that are over, whoever began them":   {over, outside},
		"that are over, to a user's listener": {served, outside},
	} {
		got, _ := collected(t, c.m, DefaultRows)
		var addresses []string
		for _, g := range got.FlowGroups {
			addresses = append(addresses, g.Address)
		}
		if !slices.Equal(addresses, c.want) || got.FlowGroupsTotal != 7 {
			t.Errorf("connections %s: %d groups, %q", name, got.FlowGroupsTotal, addresses)
		}
	}
}
