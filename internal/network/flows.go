// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"sentinel/internal/answer"
	"sentinel/internal/reach"
	"sentinel/internal/sanitize"
)

// DefaultRows is how many flows and how many listeners an answer shows.
const DefaultRows = 15

// A Flow is a connection.
type Flow struct {
	PID         int      `json:"pid,omitempty"`          // of the process; absent when it cannot be seen
	ProcessName string   `json:"process_name,omitempty"` // of the process; absent when it cannot be seen
	Source      string   `json:"source"`                 // host:port of this end
	Destination string   `json:"destination"`            // host:port of the other end
	Status      State    `json:"status"`                 // state of the connection, by RFC 9293
	Protocol    Protocol `json:"protocol"`               // tcp, udp or udplite
	UID         int      `json:"uid,omitempty"`          // of the account that made it, where no process of it is seen; absent for root's, and where the system does not tell
	User        string   `json:"-"`                      // as that of a [Socket]
}

// A Listener is a socket that accepts connections or packets from others.
type Listener struct {
	PID         int      `json:"pid,omitempty"`          // of the process; absent when it cannot be seen
	ProcessName string   `json:"process_name,omitempty"` // of the process; absent when it cannot be seen
	UID         int      `json:"uid,omitempty"`          // of the account that made it, where no process of it is seen; absent for root's, and where the system does not tell
	Address     string   `json:"address"`                // host:port
	Protocol    Protocol `json:"protocol"`               // tcp, udp or udplite
	// Exposed says that it is neither at loopback nor bound to the interface lo, so that other hosts can reach
	// it unless a firewall prevents it. One at loopback is exposed where Linux has net.ipv4.conf.*.route_localnet.
	Exposed bool `json:"exposed"`
	// Reach says whether the packet filter lets new connections of other hosts in: unknown
	// where its rules cannot be read or do not decide it. Absent for loopback.
	Reach reach.Answer `json:"reach,omitempty" enum:"reachable,filtered,unknown"`
	// ReachLimited says that it lets in only some hosts or networks; absent unless it does.
	ReachLimited bool   `json:"reach_limited,omitempty"`
	User         string `json:"-"` // as that of a [Socket]
}

// Connections are the sockets of a health document.
type Connections struct {
	// Flows are open connections, not listeners, one for each remote address, service port and
	// process: what stands out first, established before others and public addresses before private
	// ones. With --limit all it is every connection.
	Flows          []Flow `json:"flows" schema:"brief"`
	FlowsTotal     int    `json:"flows_total"`         // connections in all states
	FlowsTruncated bool   `json:"flows_truncated"`     // flows does not show every address, service port and process
	TimeWait       int    `json:"time_wait,omitempty"` // of flows_total, those closed here that wait for late packets; absent where none was seen
	// FlowGroups are the remote addresses with most connections, of each user in turn, and those of this
	// machine itself last.
	FlowGroups         []FlowGroup `json:"flow_groups" schema:"brief"`
	FlowGroupsTotal    int         `json:"flow_groups_total"`        // remote addresses with connections
	Listening          []Listener  `json:"listening" schema:"brief"` // sockets that wait for connections or packets
	ListeningTotal     int         `json:"listening_total"`          // before the list was cut
	ListeningTruncated bool        `json:"listening_truncated"`      // listening does not show all
}

// Collect lists connections and listeners, at most rows of each, the most relevant first. With rows 0
// it lists every one. What could not be read is added to gaps.
func Collect(ctx context.Context, source Source, rows int, gaps *answer.Gaps) (Connections, error) {
	peers := newPeers()
	listeners := newListeners(rows)
	err := source.Sockets(ctx, func(s Socket) {
		if s.State == Listen {
			listeners.add(s)
			peers.listen(s)
		} else {
			peers.add(s)
		}
	})
	if err != nil {
		return Connections{}, err
	}
	noteUnlisted(ctx, source, gaps)
	cut := peers.kept.cut()
	if cut > 0 {
		gaps.Note("flows", peers.kept.missing())
	}
	peers.count()
	conversations := peers.conversations(rows == 0)
	shown, _ := answer.Share(conversations, capped(rows, len(conversations)), (*conversation).user)
	listening := listeners.shown()
	owners := owned(ctx, source, socketsOf(shown), listening, gaps)
	// A conversation has a row for each of its processes: they take the places of nobody else's.
	apart := oneForEachProcess(shown, owners)
	flows, rest := answer.Share(apart, capped(rows, len(apart)), Socket.User)
	return Connections{
		Flows: each(flows, owners, newFlow), FlowsTotal: peers.total, FlowsTruncated: len(shown) < len(conversations) || len(rest) > 0 || cut > 0,
		TimeWait: peers.timeWait, FlowGroups: peers.groups(capped(min(rows, groupRows), len(peers.byRemote))), FlowGroupsTotal: len(peers.byRemote),
		Listening: each(listening, owners, newListener), ListeningTotal: listeners.total, ListeningTruncated: len(listening) < listeners.total,
	}, nil
}

// capped is how many of a list are shown; rows 0 shows all.
func capped(rows, total int) int {
	if rows == 0 {
		return total
	}
	return min(rows, total)
}

// Listeners lists all sockets that wait for connections or packets. What could not be read of their
// processes is added to gaps.
func Listeners(ctx context.Context, source Source, gaps *answer.Gaps) ([]Listener, error) {
	listeners := newListeners(0)
	err := source.Sockets(ctx, func(s Socket) {
		if s.State == Listen {
			listeners.add(s)
		}
	})
	if err != nil {
		return nil, err
	}
	all := listeners.shown()
	return each(all, owned(ctx, source, nil, all, gaps), newListener), nil
}

// owned looks up the processes of the listed sockets only: finding an owner means
// walking the file descriptors of all processes, the most expensive part of the
// whole answer.
func owned(ctx context.Context, source Source, flows, listening []Socket, gaps *answer.Gaps) map[uint64]Owner {
	owners, denied, err := source.Owners(ctx, slices.Concat(flows, listening))
	for _, list := range []struct {
		field   string
		sockets []Socket
	}{{"flows.pid", flows}, {"listening.pid", listening}} {
		switch {
		case !lacks(list.sockets, owners):
		case err != nil:
			gaps.Add(list.field, err)
		case denied:
			gaps.Note(list.field, "processes of other users are not readable without root (CAP_SYS_PTRACE)")
		}
	}
	return owners
}

// lacks reports whether a socket that has an owner is shown without one.
func lacks(sockets []Socket, owners map[uint64]Owner) bool {
	return slices.ContainsFunc(sockets, func(s Socket) bool {
		_, found := owners[s.ID]
		return s.ID != 0 && !found
	})
}

func each[T any](sockets []Socket, owners map[uint64]Owner, build func(Socket, Owner) T) []T {
	rows := make([]T, 0, len(sockets))
	for _, s := range sockets {
		rows = append(rows, build(s, owners[s.ID]))
	}
	return rows
}

// JudgeReach says of each exposed listener what other hosts meet there. Why that is not known of one is
// added to gaps, once for each reason.
func (c *Connections) JudgeReach(judge reach.Judge, gaps *answer.Gaps) {
	var told []string
	for i := range c.Listening {
		l := &c.Listening[i]
		local, err := netip.ParseAddrPort(l.Address)
		if !l.Exposed || err != nil {
			continue
		}
		v := judge(string(l.Protocol), local, l.ProcessName)
		l.Reach, l.ReachLimited = v.Answer, v.Limited
		if v.Answer == reach.Unknown && !slices.Contains(told, v.Why) {
			told = append(told, v.Why)
			gaps.Note("listening.reach", v.Why)
		}
	}
}

func newFlow(s Socket, o Owner) Flow {
	return Flow{
		PID: o.PID, ProcessName: sanitize.Text(o.Name, 64), UID: unowned(s, o), Source: hostPort(s.Local), Destination: hostPort(s.Remote),
		Status: s.State, Protocol: s.Protocol, User: s.User(),
	}
}

func newListener(s Socket, o Owner) Listener {
	return Listener{
		PID: o.PID, ProcessName: sanitize.Text(o.Name, 64), UID: unowned(s, o), Address: hostPort(s.Local),
		Protocol: s.Protocol, Exposed: s.Exposed(), User: s.User(),
	}
}

// unowned is who made a socket of which no process is seen: its descriptor may be on its way through another socket.
func unowned(s Socket, o Owner) int {
	if o.PID != 0 {
		return 0
	}
	return s.UID
}

// hostPort formats one end of a connection. A zone is the name of an interface,
// which its creator chose freely.
func hostPort(a netip.AddrPort) string { return sanitize.Text(a.String(), 96) }

// byInterest sorts what people ask about first: established connections, then
// public addresses before private ones, then by address and port.
func byInterest(a, b Socket) int {
	return cmp.Or(
		answer.TrueFirst(a.State == Established, b.State == Established),
		answer.TrueFirst(public(a.Remote.Addr()), public(b.Remote.Addr())),
		a.Remote.Compare(b.Remote), a.Local.Compare(b.Local), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.ID, b.ID),
	)
}

// byExposure sorts listeners that other hosts can reach first.
func byExposure(a, b Socket) int {
	return cmp.Or(
		answer.TrueFirst(a.Exposed(), b.Exposed()),
		cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Local.Port(), b.Local.Port()),
		a.Local.Compare(b.Local), cmp.Compare(a.ID, b.ID),
	)
}

func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate()
}

// listeners are the sockets that wait. rows is how many are shown, 0 all of them.
type listeners struct {
	rows   int
	byUser map[int]*topList
	total  int
}

func newListeners(rows int) *listeners { return &listeners{rows: rows, byUser: map[int]*topList{}} }

func (l *listeners) add(s Socket) {
	l.total++
	list := l.byUser[s.UID]
	if list == nil {
		list = &topList{rows: l.rows}
		l.byUser[s.UID] = list
	}
	list.add(s)
}

// shown are the rows in their order, in which each user has a share. add must not be called afterwards.
func (l *listeners) shown() []Socket {
	var all []Socket
	for _, list := range l.byUser {
		all = append(all, list.sorted()...)
	}
	slices.SortFunc(all, byExposure)
	shown, _ := answer.Share(all, capped(l.rows, len(all)), Socket.User)
	return shown
}

// FewerFlows returns n of the rows at most, in which each user has a share.
func FewerFlows(list []Flow, n int) []Flow {
	fewer, _ := answer.Share(list, n, func(f Flow) string { return f.User })
	return fewer
}

// FewerListeners is [FewerFlows] for sockets that wait.
func FewerListeners(list []Listener, n int) []Listener {
	fewer, _ := answer.Share(list, n, func(l Listener) string { return l.User })
	return fewer
}

// A topList keeps the first rows of any number of sockets. It holds at most twice as many in memory.
// rows 0 keeps all.
type topList struct {
	rows int
	kept []Socket
	last Socket // the last of the first rows, once there are that many
	full bool
}

// add costs one comparison for most sockets: one that sorts after all the rows can
// never be shown. The others are collected up to twice the number of rows, and then
// the second half is dropped.
func (l *topList) add(s Socket) {
	if l.full && byExposure(s, l.last) >= 0 {
		return
	}
	l.kept = append(l.kept, s)
	if l.rows > 0 && len(l.kept) >= 2*l.rows {
		l.cut()
	}
}

func (l *topList) cut() {
	slices.SortFunc(l.kept, byExposure)
	if l.rows > 0 && len(l.kept) > l.rows {
		l.kept = l.kept[:l.rows]
		l.last, l.full = l.kept[l.rows-1], true
	}
}

// sorted returns the rows in order. add must not be called afterwards.
func (l *topList) sorted() []Socket {
	l.cut()
	return l.kept
}
