// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// containerAt is a container behind a bridge, and hostOfBridge this machine there.
const containerAt, hostOfBridge = "172.17.0.2", "172.17.0.1"

// boxed adds a session of an account over a connection from a container, whose shell is PID 23, and the container: an
// init (40), and a proxy (41) with the other end of it (50) beside what else it has.
func boxed(m *machine, user string, open ...any) {
	m.Addresses = append(m.Addresses, netip.MustParseAddr(hostOfBridge))
	m.login(21, user, "pts/1", 22, hostOfBridge+":22", containerAt+":4000")
	m.process(40, 1, "init", "root", "")
	m.process(41, 40, "haproxy", "root", "", append([]any{50}, open...)...)
	for _, pid := range []int{40, 41} {
		d := m.described[pid]
		d.Elsewhere, d.Unit = true, "docker-5.scope"
		m.described[pid] = d
	}
	c := contained{on: true}
	c.Space, c.Addresses, c.Processes = 1, []netip.Addr{netip.MustParseAddr(containerAt)}, []int{40, 41}
	m.inside = map[netip.Addr]contained{netip.MustParseAddr(containerAt): c}
	m.within(50, containerAt+":4000", hostOfBridge+":22")
}

// within adds a socket to the container.
func (m *machine) within(id int, local, remote string) {
	k := Socket{ID: SocketID(id), Space: 1, Protocol: "tcp", Local: netip.MustParseAddrPort(local)}
	if k.Listening = remote == ""; !k.Listening {
		k.Remote, k.Established = netip.MustParseAddrPort(remote), true
	}
	c := m.inside[netip.MustParseAddr(containerAt)]
	c.Sockets = append(c.Sockets, k)
	m.inside[netip.MustParseAddr(containerAt)] = c
}

// proxies has the proxy pass on what comes from a client.
func (m *machine) proxies() {
	m.within(51, "0.0.0.0:2222", "")
	m.within(52, containerAt+":2222", "203.0.113.50:6000")
}

// seen sums up the addresses that carry sessions and, behind a bar, what is hidden.
func seen(m *Model) string {
	var list, hidden []string
	for a, c := range m.Addresses {
		list = append(list, fmt.Sprintf("%s %d", a, c.Whose()))
	}
	slices.Sort(list)
	for _, g := range m.Hidden() {
		why, _, _ := strings.Cut(g.Why, ", which carries")
		hidden = append(hidden, why)
	}
	return strings.Join(list, ", ") + " | " + strings.Join(hidden, "; ")
}

func TestProxiesOfContainersAreFollowed(t *testing.T) {
	const (
		ann  = "203.0.113.7 0"
		lost = "where the connection of " + containerAt + ", which is a container of this machine, goes on is not seen"
	)
	of := func(change func(contained) contained) func(*machine) {
		return func(m *machine) {
			boxed(m, "bob")
			at := netip.MustParseAddr(containerAt)
			m.inside[at] = change(m.inside[at])
		}
	}
	for name, c := range map[string]struct {
		do    func(*machine)
		self  int // 23 unless set
		want  string
		holds []int // processes that carry the session
	}{
		"a proxy": {
			do:    func(m *machine) { boxed(m, "bob", 51, 52); m.proxies() },
			want:  containerAt + " 2, 203.0.113.50 2, " + ann + " | ",
			holds: []int{40, 41},
		},
		"a jump host, whose files are read before its client's other path is known": {
			do: func(m *machine) {
				boxed(m, "bob", 51, 52)
				m.Processes[slices.IndexFunc(m.Processes, func(p Process) bool { return p.PID == 41 })].Name = "sshd"
				m.proxies()
				m.within(53, containerAt+":2222", "203.0.113.51:6000")
				c := m.inside[netip.MustParseAddr(containerAt)]
				c.Sockets[len(c.Sockets)-1].PathOf = 52
			},
			want:  containerAt + " 2, 203.0.113.50 2, 203.0.113.51 2, " + ann + " | ",
			holds: []int{40, 41},
		},
		"a proxy whose connection is sent on by the packet filter": {
			do: func(m *machine) {
				boxed(m, "bob", 51, 52)
				c := m.inside[netip.MustParseAddr(containerAt)]
				c.Sockets[0].Remote = netip.MustParseAddrPort("192.0.2.1:2222")
				m.proxies()
			},
			want:  containerAt + " 2, 203.0.113.50 2, " + ann + " | ",
			holds: []int{40, 41},
		},
		"a client": {do: func(m *machine) { boxed(m, "bob") }, want: containerAt + " 2, " + ann + " | ", holds: []int{40, 41}},
		"a program that has another socket": {
			do:    func(m *machine) { boxed(m, "bob", 99) },
			want:  containerAt + " 2, " + ann + ` | where the connection of "haproxy" (PID 41) goes on is not seen`,
			holds: []int{40, 41},
		},
		"one that cannot be looked into": {
			do:    of(func(c contained) contained { c.Sockets, c.err = nil, errors.New("not permitted"); return c }),
			want:  containerAt + " 2, " + ann + " | " + lost + " (not permitted)",
			holds: []int{40, 41},
		},
		"one that hides others": {
			do:    of(func(c contained) contained { c.Sockets = nil; return c }),
			want:  containerAt + " 2, " + ann + " | " + lost,
			holds: []int{40, 41},
		},
		"another host": {do: of(func(contained) contained { return contained{} }), want: containerAt + " 2, " + ann + " | "},
		"a session of others": {
			do:   func(m *machine) { boxed(m, "bob", 51, 52); m.proxies() },
			self: 13, want: containerAt + " 0, 203.0.113.7 2 | ",
		},
		"of others, one that cannot be looked into": {
			do:   of(func(c contained) contained { c.Sockets, c.err = nil, errors.New("not permitted"); return c }),
			self: 13, want: containerAt + " 0, 203.0.113.7 2 | ",
		},
	} {
		m := sshd()
		c.do(m)
		if m.Self = c.self; m.Self == 0 {
			m.Self = 23
		}
		model, err := Find(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if got := seen(model); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		for _, pid := range []int{40, 41} {
			if got := model.Processes[pid].Sessions != nil; got != slices.Contains(c.holds, pid) {
				t.Errorf("%s: process %d: %v", name, pid, got)
			}
		}
		if _, got := model.Units["docker-5.scope"]; got != (c.holds != nil) {
			t.Errorf("%s: units %v", name, slices.Sorted(maps.Keys(model.Units)))
		}
	}
}

// What a proxy of this machine has begun to talk with is mostly what it serves: of many, none is looked into.
func TestContainersThatAProxyServesAreLeftAlone(t *testing.T) {
	m := sshd()
	m.tcp(59, "0.0.0.0:2443", "")
	m.tcp(60, "127.0.0.1:22", "127.0.0.1:7000")
	m.tcp(61, "127.0.0.1:7000", "127.0.0.1:22")
	m.tcp(62, "192.0.2.1:2443", "203.0.113.50:6000")
	m.process(30, 1, "haproxy", "_haproxy", "", 59, 61, 62, 63)
	m.login(21, "bob", "pts/1", 60, "127.0.0.1:22", "127.0.0.1:7000")
	m.tcp(63, "192.0.2.1:7001", containerAt+":80")
	c := contained{on: true, err: errors.New("not permitted")}
	m.inside = map[netip.Addr]contained{netip.MustParseAddr(containerAt): c}
	m.Self = 23
	model, err := Find(t.Context(), m)
	if want := containerAt + " 2, 203.0.113.50 2, 203.0.113.7 0 | "; err != nil || seen(model) != want {
		t.Errorf("%v: %s, want %s", err, seen(model), want)
	}
}
