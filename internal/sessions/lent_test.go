// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"net/netip"
	"strings"
	"testing"
)

// lend has a process run a program that lends the rights of its account.
func (m *machine) lend(pid int) {
	d := m.described[pid]
	d.Lent = true
	m.described[pid] = d
}

// raise has a program of a person act with the rights of root.
func (m *machine) raise(pid int) {
	d := m.described[pid]
	d.Raised = true
	m.described[pid] = d
}

// servesMallory has a program that lends the rights of an account serve a terminal.
func servesMallory(m *machine, program, user string) {
	m.process(30, 1, program, user, "", 31, "pts/4")
	m.process(33, 30, "sh", "mallory", "pts/4")
	m.lend(30)
}

// Who starts a program that takes an account of the system, and waits, chooses what it has open and what it is
// called: at(1), exim.
func TestWhatLendsAnAccountIsItsUsers(t *testing.T) {
	tcp := func(m *machine) { m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443") }
	for name, do := range map[string]func(*machine){
		"serves a terminal over a connection": func(m *machine) {
			tcp(m)
			servesMallory(m, "at", "_daemon")
		},
		"of root serves a terminal over a connection": func(m *machine) {
			tcp(m)
			servesMallory(m, "at", "root")
		},
		"serves the shell of a service over packets": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40000", "203.0.113.66:9")
			m.process(30, 1, "exim4", "_exim", "", 31, "pts/4")
			m.process(33, 30, "sh", "_www", "pts/4")
			m.lend(30)
		},
		"serves a terminal over packets of anybody": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40000", "")
			servesMallory(m, "exim4", "_exim")
			m.peers = []Peer{{40000, netip.MustParseAddr("203.0.113.66"), false}}
		},
		"is run at the terminal of a service": func(m *machine) {
			tcp(m)
			m.process(30, 1, "python", "_www", "", 31, "pts/4")
			m.process(33, 30, "sh", "_www", "pts/4")
			m.process(34, 33, "exim4", "_exim", "pts/4")
			m.lend(34)
		},
		"shares a socket of a user's server": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40000", "")
			m.process(30, 1, "at", "_daemon", "", 31)
			m.process(32, 30, "python", "mallory", "", 31, "pts/4")
			m.process(33, 32, "sh", "mallory", "pts/4")
			m.lend(30)
			m.peers = []Peer{{40000, netip.MustParseAddr("203.0.113.66"), false}}
		},
		"is called sshd": func(m *machine) {
			tcp(m)
			m.process(30, 1, "sshd", "root", "", 31)
			m.lend(30)
		},
		"is called sshd and has another below it": func(m *machine) {
			tcp(m)
			m.process(30, 1, "sshd", "root", "")
			m.process(32, 30, "sshd", "mallory", "", 31)
			m.lend(30)
		},
		"of root serves a terminal over packets of anybody": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40000", "")
			servesMallory(m, "at", "root")
			m.peers = []Peer{{40000, netip.MustParseAddr("203.0.113.66"), false}}
		},
		"passes a login on by packets": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40001", "203.0.113.66:22")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "at", "_daemon", "", 31, 32)
			m.login(41, "mallory", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
			m.lend(30)
		},
		"passes a login on by packets, for a caller whom nothing tells": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40001", "203.0.113.66:22")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "at", "_daemon", "", 31, 32)
			m.login(41, "mallory", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
			m.lend(30)
			m.process(51, 1, "cron", "root", "")
			m.Self = 51
		},
	} {
		m := sshd()
		m.process(50, 13, "sentinel", "root", "pts/0")
		m.Self = 50
		do(m)
		model, got := summary(t, m)
		if strings.Contains(got, "203.0.113.66") {
			t.Errorf("what %s: %s", name, got)
		}
		if hidden := model.Hidden(); len(hidden) > 0 && m.Self == 50 {
			t.Errorf("what %s keeps others from blocking: %+v", name, hidden)
		}
	}
}

// A terminal that programs with root's rights are at, and serve, is nobody's who has become root.
func TestWhatLendsRootsRightsIsNoSessionOfRoots(t *testing.T) {
	m := sshd()
	m.tcp(30, "0.0.0.0:4444", "")
	m.tcp(31, "192.0.2.1:4444", "203.0.113.66:4000")
	m.process(30, 1, "at", "root", "", 31, "pts/4")
	m.process(33, 30, "su", "root", "pts/4")
	m.described[33] = Description{System: true, User: "root", Program: "su", Lent: true, Login: "c9"}
	m.lend(30)
	m.process(50, 1, "sentinel", "ann", "")
	m.Self = 50
	if _, got := summary(t, m); got != "203.0.113.66 others', 203.0.113.7 possibly own" {
		t.Error(got)
	}
}

// Who connects a UDP socket has sent nothing, and nobody has answered. For a session that may be the caller's
// own it counts all the same.
func TestAConnectedUDPSocketIsNoOtherEndOfASessionOfOthers(t *testing.T) {
	const own, fresh = "203.0.113.7 others', 203.0.113.9 own", "203.0.113.7 own"
	for self, want := range map[int]string{33: own, 13: fresh} {
		for account, pid := range map[string]int{"root": 30, "_agent": 30} {
			m := sshd()
			m.socket(32, "udp", "192.0.2.1:40000", "203.0.113.9:443")
			m.process(pid, 1, "agent", account, "", 32, "pts/3")
			m.process(33, pid, "sh", "bob", "pts/3")
			m.Self = self
			model, got := summary(t, m)
			if c := model.Processes[pid]; got != want || c.Sessions == nil {
				t.Errorf("of %s, for %d: %s, want %s; %v", account, self, got, want, c)
			}
			gap := "whether 203.0.113.9:443 answers at the UDP socket that is connected with it is not known, which carries the session of bob at pts/3"
			if said := len(model.Gaps) == 1 && model.Gaps[0].Why == gap; said != (self == 13) {
				t.Errorf("of %s, for %d: %+v", account, self, model.Gaps)
			}
		}
	}
}

// A proxy of the system that has only connected a socket does not show where it leads.
func TestAConnectedUDPSocketOfAProxyLeadsNowhere(t *testing.T) {
	for self, want := range map[int]string{43: "203.0.113.7 others', 203.0.113.9 own", 13: "203.0.113.7 own"} {
		m := sshd()
		m.socket(31, "udp", "192.0.2.1:40001", "203.0.113.9:7844")
		m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
		m.process(30, 1, "tunnel", "_tunnel", "", 31, 32)
		m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		m.Self = self
		if _, got := summary(t, m); got != want {
			t.Errorf("for %d: %s, want %s", self, got, want)
		}
	}
}

// Nor does it hide where the proxy leads on.
func TestAConnectedUDPSocketHidesNoWayOn(t *testing.T) {
	m := sshd()
	m.socket(31, "udp", "192.0.2.1:40001", "192.0.2.53:53")
	m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
	m.tcp(34, "127.0.0.1:40002", "127.0.0.1:9000")
	m.process(30, 1, "tunnel", "_tunnel", "", 31, 32, 34)
	m.tcp(35, "127.0.0.1:9000", "")
	m.tcp(36, "127.0.0.1:9000", "127.0.0.1:40002")
	m.tcp(37, "192.0.2.1:40003", "203.0.113.9:443")
	m.process(35, 1, "outer", "_tunnel", "", 35, 36, 37)
	m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
	m.Self = 13
	if _, got := summary(t, m); got != "203.0.113.7 own, 203.0.113.9 others'" {
		t.Error(got)
	}
}
