// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"testing"
)

// end has processes end after the table of processes was read.
func (m *machine) end(pids ...int) {
	for _, pid := range pids {
		m.described[pid] = Description{Ended: true}
	}
}

// Any user has processes that end at any moment: they show nobody to be root, or the caller.
func TestWhatHasEndedIsNobodys(t *testing.T) {
	const ann, othersToo, nobody = "203.0.113.7 possibly own, ", "203.0.113.8 others'", "203.0.113.7 possibly own"
	mallory := func(m *machine) { m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000") }
	served := func(m *machine) {
		m.tcp(80, "0.0.0.0:7000", "")
		m.tcp(81, "192.0.2.1:7000", "203.0.113.8:5000")
		m.process(80, 1, "python", "mallory", "", 80, 81, "pts/8", "pts/9")
		m.process(81, 80, "sh", "mallory", "pts/8")
		m.process(82, 80, "sh", "mallory", "pts/9")
	}
	for name, c := range map[string]struct {
		make func(*machine)
		want string
	}{
		"a process of somebody who is logged in": {func(m *machine) {
			mallory(m)
			m.process(24, 23, "sleep", "mallory", "pts/1")
			m.end(24)
		}, ann + othersToo},
		"all that somebody had":        {func(m *machine) { mallory(m); m.end(23) }, ann + othersToo},
		"what a user serves":           {func(m *machine) { served(m); m.end(81) }, ann + othersToo},
		"all of what a user serves":    {func(m *machine) { served(m); m.end(81, 82) }, nobody},
		"the server of a user, too":    {func(m *machine) { served(m); m.end(80, 81, 82) }, nobody},
		"what a server of root serves": {func(m *machine) { served(m); m.described[80] = m.described[10]; m.end(81, 82) }, nobody},
		"what a user serves, but for a program that lends an account": {func(m *machine) {
			served(m)
			m.process(83, 81, "at", "_daemon", "pts/8")
			m.lend(83)
			m.end(81, 82)
		}, ann + othersToo},
		"a session without a terminal, of a server of root": {func(m *machine) {
			m.tcp(91, "192.0.2.1:22", "203.0.113.8:5000")
			m.process(90, 10, "sshd", "root", "", 91)
			m.process(92, 90, "rsync", "mallory", "")
			m.end(92)
		}, ann + othersToo},
		"what was called sshd":               {func(m *machine) { served(m); m.Processes[len(m.Processes)-3].Name = "sshd"; m.end(80, 81, 82) }, nobody},
		"the server's part of somebody, too": {func(m *machine) { mallory(m); m.end(22, 23) }, ann + othersToo},
	} {
		m := sshd()
		m.process(50, 1, "tmux", "ann", "", "pts/5")
		m.process(51, 50, "bash", "ann", "pts/5")
		m.Self = 51
		c.make(m)
		if model, got := summary(t, m); got != c.want || len(model.Hidden()) > 0 {
			t.Errorf("%s: %s, want %s; hidden %+v", name, got, c.want, model.Hidden())
		}
	}
}

// What cannot be read of a process that goes on may be anybody's.
func TestWhatIsNotKnownMayBeRoots(t *testing.T) {
	m := sshd()
	m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000")
	m.described[23] = Description{}
	m.process(50, 1, "tmux", "ann", "", "pts/5")
	m.Self = 50
	if _, got := summary(t, m); got != "203.0.113.7 possibly own, 203.0.113.8 possibly own" {
		t.Error(got)
	}
}

// Who tries passwords is not logged in because a program that checked one has ended.
func TestWhatHasEndedAtAPromptIsNoLogin(t *testing.T) {
	m := telnetd()
	m.process(34, 33, "unix_chkpwd", "root", "pts/3")
	m.end(34)
	model, got := summary(t, m)
	if _, carries := model.Processes[30]; got != "203.0.113.7 own" || carries {
		t.Errorf("%s; the server's part carries: %t", got, carries)
	}
}

// Nor is a console one where somebody is.
func TestWhatHasEndedAtAConsoleIsNoLogin(t *testing.T) {
	m := sshd()
	m.process(31, 1, "login", "root", "ttyS0")
	m.runs(31, "login")
	m.process(32, 31, "unix_chkpwd", "root", "ttyS0")
	m.end(32)
	m.process(50, 13, "sentinel", "root", "pts/0")
	m.Self = 50
	if model, _ := summary(t, m); slices.ContainsFunc(model.Sessions, func(s *Session) bool { return s.Terminal == "ttyS0" }) {
		t.Errorf("%v", model.Sessions)
	}
}
