// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"strings"
	"testing"
)

// telnetd has somebody at 203.0.113.66 connected, and asked who they are at pts/3.
func telnetd() *machine {
	m := sshd()
	m.tcp(31, "0.0.0.0:23", "")
	m.tcp(32, "192.0.2.1:23", "203.0.113.66:4000")
	m.process(29, 1, "x", "root", "", 31)
	m.process(30, 29, "x", "root", "", 32, "pts/3")
	m.process(33, 30, "login", "root", "pts/3")
	m.runs(33, "login")
	m.process(50, 13, "sentinel", "root", "pts/0")
	m.Self = 50
	return m
}

// Who sits at a prompt has no session; whoever has logged in, and a program of root's that only is called
// like one that asks, has.
func TestWhoHasNotLoggedInAtATerminalHasNoSession(t *testing.T) {
	const own, both = "203.0.113.7 own", "203.0.113.66 others', 203.0.113.7 own"
	login := Login{ID: "4", Leader: 33, User: "bob", Terminal: "pts/3", Manager: true}
	for name, c := range map[string]struct {
		change func(*machine)
		want   string
	}{
		"login":                                  {func(*machine) {}, own},
		"that of busybox":                        {func(m *machine) { m.runs(33, "busybox") }, own},
		"what only is called so":                 {func(m *machine) { m.runs(33, "") }, both},
		"a shell of root":                        {func(m *machine) { m.runs(33, "bash") }, both},
		"of busybox":                             {func(m *machine) { m.runs(33, "busybox"); m.Processes[len(m.Processes)-2].Name = "sh" }, both},
		"somebody who has":                       {func(m *machine) { m.process(34, 33, "sh", "bob", "pts/3") }, both},
		"root who has":                           {func(m *machine) { m.process(34, 33, "sh", "root", "pts/3") }, both},
		"somebody who has before":                {func(m *machine) { d := m.described[33]; d.Login = "4"; m.described[33] = d }, both},
		"somebody of whom only the record tells": {func(m *machine) { m.Logins = []Login{login} }, both},
	} {
		m := telnetd()
		c.change(m)
		model, got := summary(t, m)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if _, carries := model.Processes[30]; carries != (c.want == both) {
			t.Errorf("%s: the server's part carries: %t", name, carries)
		}
	}
}

// The server is one that people log in through all the same.
func TestTheServerOfAPromptTakesLogins(t *testing.T) {
	model, _ := summary(t, telnetd())
	c := model.Processes[29]
	if want := "the login prompt at pts/3"; !c.Listens || c.String() != want {
		t.Errorf("%+v: %s, want %s", c, c, want)
	}
	if model.Processes[33].Sessions != nil || len(model.Sessions) != 1 || strings.Contains(model.Sessions[0].String(), "pts/3") {
		t.Errorf("%v, %v", model.Processes, model.Sessions)
	}
	for port := range model.Ports {
		if port.Number == 23 {
			t.Error("its port carries a session")
		}
	}
}

// Where no session manager runs, nothing but the processes tells of a login at a console. It is one of the
// machine itself, and no address is protected for it.
func TestALoginAtAConsoleNeedsNoRecord(t *testing.T) {
	type asked struct {
		program string // that the process of root runs which is called login
		name    string
		shell   string // whose it is; empty for none
		logins  []Login
		self    int
	}
	for name, c := range map[string]struct {
		asked
		want      string
		processes []int
	}{
		"somebody":               {asked{"login", "login", "bob", nil, 50}, "the session of bob at ttyS0", []int{31, 32}},
		"root":                   {asked{"login", "login", "root", nil, 50}, "the session of root at ttyS0", []int{31, 32}},
		"the caller":             {asked{"login", "login", "bob", nil, 33}, "this call's own session of bob at ttyS0", []int{31, 32}},
		"of busybox":             {asked{"busybox", "login", "bob", nil, 50}, "the session of bob at ttyS0", []int{31, 32}},
		"nobody yet":             {asked{"login", "login", "", nil, 50}, "", nil},
		"what is only called so": {asked{"", "login", "bob", nil, 50}, "", nil},
		"another of busybox":     {asked{"busybox", "sh", "bob", nil, 50}, "", nil},
		"one that is recorded":   {asked{"login", "login", "bob", []Login{{ID: "3", Leader: 31, User: "bob", Terminal: "ttyS0", Manager: true}}, 50}, "the session of bob at ttyS0", []int{31, 32}},
	} {
		m := sshd()
		m.process(31, 1, c.name, "root", "ttyS0")
		m.runs(31, c.program)
		if c.shell != "" {
			m.process(32, 31, "bash", c.shell, "ttyS0")
			m.process(33, 32, "sentinel", "root", "ttyS0")
		}
		m.process(50, 13, "sentinel", "root", "pts/0")
		m.Logins, m.Self = c.logins, c.self
		model, addresses := summary(t, m)
		var found []string
		for _, s := range model.Sessions {
			if s.Terminal == "ttyS0" {
				found = append(found, s.String())
			}
		}
		if got := strings.Join(found, ", "); got != c.want || !strings.HasPrefix(addresses, "203.0.113.7 ") || strings.Contains(addresses, ",") {
			t.Errorf("%s: %q, want %q; %s", name, got, c.want, addresses)
		}
		for pid := 31; pid < 34; pid++ {
			if _, carries := model.Processes[pid]; carries != slices.Contains(c.processes, pid) {
				t.Errorf("%s: process %d carries: %t", name, pid, carries)
			}
		}
	}
}
