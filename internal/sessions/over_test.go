// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
)

// over connects two sockets over a path at which the second listened.
func (m *machine) over(client, server int) {
	if m.unix == nil {
		m.unix = map[SocketID]Socket{}
	}
	c, s := SocketID(client), SocketID(server)
	m.unix[c] = Socket{ID: c, Protocol: "unix", Peer: s}
	m.unix[s] = Socket{ID: s, Protocol: "unix", Peer: c, Accepted: true}
}

// behindPath is a server (PID 30) of a terminal that somebody has connected to over a path, from socket 200, and this
// run there, beside ann's session over SSH.
func behindPath(account string) *machine {
	m := sshd()
	m.over(200, 100)
	m.process(30, 1, "ttyd", account, "", 100, "pts/3")
	m.process(33, 30, "bash", account, "pts/3")
	m.process(34, 33, "sentinel", "root", "pts/3")
	m.Self = 34
	return m
}

// front adds a proxy with a connection of the network.
func (m *machine) front(pid int, account string, open ...any) {
	m.tcp(41, "0.0.0.0:9090", "")
	m.tcp(42, "192.0.2.1:9090", "203.0.113.9:5000")
	m.process(pid, 1, "haproxy", account, "", append(open, 41, 42)...)
}

// The caller's own session may have come to this machine at a proxy that passes it on over a path.
func TestTheCallersSessionIsFollowedOverUnixSockets(t *testing.T) {
	const without = "203.0.113.7 possibly own"
	for name, c := range map[string]struct {
		account string
		make    func(*machine)
		want    string
	}{
		"a proxy of a service": {"root", func(m *machine) { m.front(40, "_proxy", 200) }, "203.0.113.7 possibly own, 203.0.113.9 own"},
		"one behind another": {"root", func(m *machine) {
			m.over(201, 101)
			m.process(35, 1, "cockpit-ws", "_ws", "", 200, 101)
			m.front(40, "_proxy", 201)
		}, "203.0.113.7 possibly own, 203.0.113.9 own"},
		"a circle": {"root", func(m *machine) {
			m.over(201, 101)
			m.over(202, 102)
			m.process(35, 1, "one", "_ws", "", 200, 101, 202)
			m.process(36, 1, "two", "_ws", "", 201, 102)
		}, without},
		"with other clients": {"root", func(m *machine) {
			m.tcp(43, "192.0.2.1:9090", "203.0.113.10:5000")
			m.front(40, "_proxy", 200, 43)
		}, "203.0.113.10 own, 203.0.113.7 possibly own, 203.0.113.9 own"},
		"beside what the server calls": {"root", func(m *machine) {
			m.tcp(44, "192.0.2.1:50000", "203.0.113.80:443")
			m.files[30] = Files{Sockets: []SocketID{44, 100}, Masters: []string{"pts/3"}}
			m.front(40, "_proxy", 200)
		}, "203.0.113.7 possibly own, 203.0.113.80 own, 203.0.113.9 own"},
		"one of somebody else":      {"root", func(m *machine) { m.front(40, "mallory", 200) }, without},
		"one that lends an account": {"root", func(m *machine) { m.front(40, "_proxy", 200); m.lend(40) }, without},
		"one of the caller's":       {"ann", func(m *machine) { m.front(40, "ann", 200) }, "203.0.113.7 possibly own, 203.0.113.9 own"},
		"what it accepted itself":   {"root", func(m *machine) { m.front(40, "_proxy", 200); m.Sockets[len(m.Sockets)-1].UID = uidOf("_proxy") }, "203.0.113.7 possibly own, 203.0.113.9 own"},
		"what a user left with it":  {"root", func(m *machine) { m.front(40, "_bus", 200); m.Sockets[len(m.Sockets)-1].UID = uidOf("mallory") }, without},
		"a program that calls":      {"root", func(m *machine) { m.process(40, 1, "client", "root", "", 200) }, without},
		"a browser of the caller's": {"ann", func(m *machine) {
			m.tcp(43, "192.0.2.1:50000", "203.0.113.9:443")
			m.process(40, 1, "firefox", "ann", "", 200, 43)
		}, without},
		"what the server has started":  {"root", func(m *machine) { m.front(40, "_proxy", 200); m.Processes[len(m.Processes)-1].Parent = 33 }, without},
		"what the server connected to": {"root", func(m *machine) { m.over(100, 200); m.front(40, "_log", 200) }, without},
		"where nobody holds the end":   {"root", func(m *machine) { m.front(40, "_proxy") }, without},
	} {
		m := behindPath(c.account)
		c.make(m)
		model, got := summary(t, m)
		if got != c.want || len(model.Hidden()) > 0 {
			t.Errorf("%s: %s, want %s; hidden %+v", name, got, c.want, model.Hidden())
		}
		if claim := model.Processes[40]; (claim.Sessions != nil && claim.EndsOwn()) != (c.want != without) {
			t.Errorf("%s: the proxy: %v", name, claim)
		}
	}
}

// A relay between a proxy and a server of the network is passed on to over a path.
func TestARelayOfTheCallersSessionIsReachedOverAUnixSocket(t *testing.T) {
	for self, want := range map[int]string{43: "203.0.113.7 others', 203.0.113.9 own", 13: "203.0.113.7 own"} {
		m := sshd()
		m.over(200, 100)
		m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
		m.process(30, 1, "relay", "root", "", 32, 100)
		m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		m.tcp(51, "0.0.0.0:9090", "")
		m.tcp(52, "192.0.2.1:9090", "203.0.113.9:5000")
		m.process(50, 1, "haproxy", "_proxy", "", 51, 52, 200)
		m.Self = self
		model, got := summary(t, m)
		if claim := model.Processes[50]; got != want || (claim.Sessions != nil) != (self == 43) {
			t.Errorf("for %d: %s, want %s; the proxy: %v", self, got, want, claim)
		}
		if hidden := model.Hidden(); len(hidden) > 0 {
			t.Errorf("for %d: %+v", self, hidden)
		}
		if self == 13 && len(m.asked) > 0 {
			t.Errorf("for a session of somebody else it was asked about %v", m.asked)
		}
	}
}

// Who is at the machine itself, or has come over the network, comes by no path.
func TestUnixSocketsAreAskedAboutForALack(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*machine)
		want string
	}{
		"at the console":   {func(m *machine) { m.process(60, 1, "login", "root", "tty1"); m.Processes[4].Parent = 60 }, "203.0.113.7 others'"},
		"over the network": {func(m *machine) { m.process(60, 13, "sentinel", "root", "pts/0"); m.Self = 60 }, "203.0.113.7 own"},
	} {
		m := behindPath("root")
		m.front(40, "_proxy", 200)
		c.make(m)
		if _, got := summary(t, m); got != c.want || len(m.asked) > 0 {
			t.Errorf("%s: %s, want %s; asked about %v", name, got, c.want, m.asked)
		}
	}
}

// What was not looked at may carry the caller's session; where the system tells nothing of the kind, nobody could
// block anything any more.
func TestUnixSocketsThatAreNotLookedAtAreAGap(t *testing.T) {
	for err, want := range map[error][2]int{errors.New("too many"): {1, 0}, fmt.Errorf("no: %w", ErrNotTold): {0, 1}} {
		m := behindPath("root")
		m.unixErr = err
		m.files[34], m.files[33] = Files{Sockets: []SocketID{900}}, Files{}
		model, _ := summary(t, m)
		hidden, unseen := len(model.Hidden()), len(model.Unseen)
		if hidden != want[0] || unseen != want[1] {
			t.Errorf("%v: hidden %+v, unseen %q", err, model.Hidden(), model.Unseen)
		}
	}
}

// Who holds the other end may be among what was not looked at.
func TestAnUnknownHolderOfAUnixSocketIsAGap(t *testing.T) {
	m := behindPath("root")
	m.front(40, "_proxy", 200)
	m.unheld, m.skipped = true, &SkippedError{Err: errors.New("too many files"), Users: []int{1000}}
	model, _ := summary(t, m)
	if hidden := model.Hidden(); len(hidden) != 1 || model.Hides(0, false) == "" || model.Hides(1000, false) != "" {
		t.Errorf("%+v", hidden)
	}
}

// How many processes are connected in a row is the choice of whoever runs them.
func TestALongRowOfUnixSocketsIsAGap(t *testing.T) {
	m := behindPath("root")
	for i := range 2 * maxLeading {
		m.over(201+i, 1001+i)
		m.process(1000+i, 1, "relay", "_ws", "", 200+i, 1001+i)
	}
	model, got := summary(t, m)
	if hidden := model.Hidden(); got != "203.0.113.7 possibly own" || len(hidden) != 1 {
		t.Errorf("%s; %+v", got, hidden)
	}
	if model.Hides(0, false) == "" || model.Hides(101, false) == "" {
		t.Error("what was not looked at may end")
	}
	if c := model.Addresses[netip.MustParseAddr("203.0.113.7")]; c.Whose() != PossiblyOwn {
		t.Error(c)
	}
}
