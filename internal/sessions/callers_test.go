// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

// Where no way leads up to a session, that of somebody who has nothing to do with the caller is not the
// caller's: an intruder would be immune to whatever is called from tmux or cron.
func TestADetachedCallerIsNotInEverybodysSession(t *testing.T) {
	detached := func(account string) func(*machine) {
		return func(m *machine) {
			m.process(50, 1, "tmux", account, "", "pts/5")
			m.process(51, 50, "bash", account, "pts/5")
			m.process(52, 51, "sudo", "root", "pts/5")
			m.Self = 52
		}
	}
	pty := func(account string) func(*machine) { // somebody serves a terminal to whoever connects
		return func(m *machine) {
			m.tcp(80, "0.0.0.0:8080", "")
			m.tcp(81, "192.0.2.1:8080", "203.0.113.66:5000")
			m.process(80, 1, "x", account, "", 80, 81, "pts/8")
			m.process(81, 80, "sh", account, "pts/8")
		}
	}
	mallory := func(m *machine) { m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000") }
	more := func(name, account string, lent bool) func(*machine) { // one more process in mallory's session
		return func(m *machine) {
			mallory(m)
			m.process(24, 23, name, account, "pts/1")
			d := m.described[24]
			d.Lent = lent
			m.described[24] = d
		}
	}
	asks := func(m *machine) { // sudo, this program, and what it runs
		more("sudo", "root", true)(m)
		m.process(25, 24, "sentinel", "root", "pts/1")
		m.described[25] = Description{System: true, User: "root", OwnRun: true}
		m.process(26, 25, "nft", "root", "pts/1")
	}
	sudo := func(m *machine) { m.Users = []User{{0, "root", true}, {1000, "ann", false}} }
	machinectl := func(m *machine) {
		m.Logins = append(m.Logins, Login{ID: "c5", Leader: 50, User: "bob", Terminal: "pts/5", Manager: true})
	}
	const ann, malloryToo, intruderToo = "203.0.113.7 possibly own, ", "203.0.113.8 possibly own", "203.0.113.66 possibly own, "
	for name, c := range map[string]struct {
		make []func(*machine)
		want string
	}{
		"another user's login":                      {[]func(*machine){detached("ann"), mallory}, ann + "203.0.113.8 others'"},
		"another user's terminal":                   {[]func(*machine){detached("ann"), pty("eve")}, "203.0.113.66 others', 203.0.113.7 possibly own"},
		"a service's":                               {[]func(*machine){detached("ann"), pty("_www")}, "203.0.113.66 others', 203.0.113.7 possibly own"},
		"the caller's own, in another":              {[]func(*machine){detached("ann"), pty("ann")}, intruderToo + "203.0.113.7 possibly own"},
		"by a job of root, another user's login":    {[]func(*machine){detached("root"), mallory}, ann + malloryToo},
		"by a job of root, another user's terminal": {[]func(*machine){detached("root"), pty("eve")}, "203.0.113.66 others', 203.0.113.7 possibly own"},
		"by a job of root, a service's":             {[]func(*machine){detached("root"), pty("_www")}, "203.0.113.66 others', 203.0.113.7 possibly own"},
		"by root for ann, another user's login":     {[]func(*machine){detached("root"), sudo, mallory}, ann + "203.0.113.8 others'"},
		"by a service":                              {[]func(*machine){detached("_at"), mallory}, ann + malloryToo},
		"by a shell of machinectl":                  {[]func(*machine){detached("bob"), machinectl}, "203.0.113.7 possibly own"},
		"somebody became root":                      {[]func(*machine){detached("ann"), more("bash", "root", false)}, ann + malloryToo},
		"somebody became the caller":                {[]func(*machine){detached("ann"), more("bash", "ann", false)}, ann + malloryToo},
		"somebody asks this program":                {[]func(*machine){detached("ann"), asks}, ann + "203.0.113.8 others'"},
		"somebody became root, and asks it": {[]func(*machine){detached("ann"), asks, func(m *machine) {
			m.process(27, 23, "bash", "root", "pts/1")
		}}, ann + malloryToo},
		"somebody became another":                {[]func(*machine){detached("ann"), more("bash", "bob", false)}, ann + "203.0.113.8 others'"},
		"somebody is asked for a password":       {[]func(*machine){detached("ann"), more("su", "mallory", true)}, ann + "203.0.113.8 others'"},
		"somebody runs what lends root's rights": {[]func(*machine){detached("ann"), more("su", "root", true)}, ann + "203.0.113.8 others'"},
	} {
		m := sshd()
		for _, do := range c.make {
			do(m)
		}
		if _, got := summary(t, m); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The caller's own is kept by whatever tells where it leads.
func TestPacketsOfIPv6LeadToTheCaller(t *testing.T) {
	for self, want := range map[int]string{
		33: "2001:db8:9::9 own, 203.0.113.7 others'", 50: "2001:db8:9::9 possibly own, 203.0.113.7 others'",
		13: "2001:db8:8::8 others', 203.0.113.7 own", // from where bob has logged in
	} {
		m := sshd()
		m.socket(31, "udp", "[2001:db8::1]:60001", "")
		m.process(30, 1, "mosh-server", "bob", "", 31, "pts/4")
		m.process(33, 30, "sh", "bob", "pts/4")
		m.process(50, 1, "tmux", "bob", "", "pts/5")
		m.peers = []Peer{{60001, netip.MustParseAddr("2001:db8:9::9"), true}}
		if m.Self = self; self == 13 {
			m.Logins = []Login{{ID: "7", Leader: 999, User: "bob", From: netip.MustParseAddr("2001:db8:8::8"), Remote: true, Manager: true}}
			d := m.described[33]
			d.Login = "7"
			m.described[33] = d
		}
		if _, got := summary(t, m); got != want {
			t.Errorf("from %d: %s, want %s", self, got, want)
		}
	}
}

// A session of root's that has no process is root's server alone.
func TestASessionWithoutAProcessMayBeOfADetachedCaller(t *testing.T) {
	m := sshd()
	m.tcp(32, "192.0.2.1:22", "203.0.113.9:5000")
	m.process(30, 10, "sshd", "root", "", 32)
	m.process(50, 1, "tmux", "bob", "", "pts/5")
	m.process(51, 50, "bash", "bob", "pts/5")
	m.Self = 51
	if _, got := summary(t, m); got != "203.0.113.7 others', 203.0.113.9 possibly own" {
		t.Error(got)
	}
}

// Anybody who can log in makes a session that comes from a program of theirs, of which nothing more is seen.
// That stops calls of their own account alone; others are told.
func TestNobodyStopsOthersByLoggingInFromThisMachine(t *testing.T) {
	why := func(pid int) string {
		return fmt.Sprintf("where the connection of \"ssh\" (PID %d) goes on is not seen, which carries the session of mallory at pts/3 (which may be this call's own)", pid)
	}
	for name, c := range map[string]struct {
		account  string
		sessions int
		hidden   int
		unseen   []string
	}{
		"a job of root":               {"root", 1, 0, []string{why(600)}},
		"a job of root, and many":     {"root", 9, 0, []string{why(600) + "; " + why(601) + "; " + why(602) + "; and so for 6 more"}},
		"what ann has left running":   {"ann", 1, 0, nil},
		"what mallory has left there": {"mallory", 1, 1, nil},
	} {
		m := sshd()
		for n := range c.sessions {
			from := fmt.Sprintf("127.0.0.1:%d", 40000+n)
			m.tcp(100+n, from, "127.0.0.1:22")
			m.process(600+n, 1, "ssh", "mallory", "", 100+n)
			m.login(200+10*n, "mallory", "pts/3", 300+n, "127.0.0.1:22", from)
		}
		m.process(50, 1, "tmux", c.account, "")
		m.Self = 50
		if model, _ := summary(t, m); len(model.Hidden()) != c.hidden || !slices.Equal(model.Unseen, c.unseen) {
			t.Errorf("%s: hidden %+v, unseen %q", name, model.Hidden(), model.Unseen)
		}
	}
}
