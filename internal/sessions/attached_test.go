// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// draws has a process have terminals of others open.
func (m *machine) draws(pid int, on ...string) {
	files := m.files[pid]
	files.Terminals = append(files.Terminals, on...)
	m.files[pid] = files
}

// tmux adds a server (PID 50) with a shell at pts/5, a client at the terminal of ann's session, and this run at the
// console.
func tmux(account string) *machine {
	m := sshd()
	m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000")
	m.process(40, 1, "login", "root", "tty1")
	m.Self = 40
	m.process(14, 13, "tmux: client", account, "pts/0")
	m.process(50, 1, "tmux: server", account, "", "pts/5")
	m.process(51, 50, "bash", account, "pts/5")
	return m
}

// shown tells in which sessions servers of terminals are shown.
func shown(t *testing.T, m *machine) string {
	t.Helper()
	model, err := Find(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, pid := range slices.Sorted(maps.Keys(model.Processes)) {
		if c := model.Processes[pid]; pid >= 50 {
			list = append(list, fmt.Sprintf("%d: %v %v", pid, c.Carrying(), c.EndsOwn()))
		}
	}
	return strings.Join(list, "; ")
}

const (
	annsTerminal     = "50: it serves terminals that are shown in the session of ann from 203.0.113.7 at pts/0 false"
	mallorysTerminal = "50: it serves terminals that are shown in the session of mallory from 203.0.113.8 at pts/1 false"
)

// A server of terminals has that of each client open, as tmux(1) and screen(1) have.
func TestServersOfTerminalsAreShownInSessions(t *testing.T) {
	for name, c := range map[string]struct {
		account string
		change  func(*machine)
		want    string
	}{
		"attached": {"ann", func(m *machine) { m.draws(50, "pts/0") }, annsTerminal},
		"to the caller's": {"ann", func(m *machine) { m.draws(50, "pts/0"); m.Self = 13 },
			"50: it serves terminals that are shown in this call's own session of ann from 203.0.113.7 at pts/0 false"},
		"detached":                {"ann", func(*machine) {}, ""},
		"a terminal that is gone": {"ann", func(m *machine) { m.draws(50, "pts/0 (deleted)") }, ""},
		"by sudo":                 {"root", func(m *machine) { m.draws(50, "pts/0") }, annsTerminal},
		"by sudo, at a terminal of that": {"root", func(m *machine) {
			m.process(15, 13, "sudo", "root", "pts/0", "pts/9")
			m.process(16, 15, "sudo", "root", "pts/9")
			m.process(17, 16, "tmux: client", "root", "pts/9")
			m.lend(15)
			m.lend(16)
			m.draws(50, "pts/9")
		}, annsTerminal},
		"within another": {"ann", func(m *machine) {
			m.draws(50, "pts/0")
			m.process(60, 1, "tmux: server", "ann", "", "pts/6")
			m.process(61, 60, "bash", "ann", "pts/6")
			m.draws(60, "pts/5")
		}, annsTerminal + "; 60" + annsTerminal[2:]},
		"by sudo within another": {"ann", func(m *machine) {
			m.draws(50, "pts/0")
			m.process(52, 51, "sudo", "root", "pts/5", "pts/9")
			m.process(53, 52, "bash", "root", "pts/9")
			m.lend(52)
			m.process(60, 1, "tmux: server", "root", "", "pts/6")
			m.process(61, 60, "bash", "root", "pts/6")
			m.draws(60, "pts/9")
		}, annsTerminal + "; 60" + annsTerminal[2:]},
		"that serves no terminal": {"ann", func(m *machine) {
			m.draws(50, "pts/0")
			m.files[50] = Files{Terminals: m.files[50].Terminals}
		}, ""},
	} {
		m := tmux(c.account)
		c.change(m)
		if diff := cmp.Diff(c.want, shown(t, m)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Whoever is logged in, or gets into an account, makes no session of another be shown by a server of theirs.
func TestTerminalsOfOthersShowNoServer(t *testing.T) {
	for name, c := range map[string]struct {
		account string
		change  func(*machine)
		want    string
	}{
		"of another":         {"mallory", func(m *machine) { m.draws(50, "pts/0") }, ""},
		"of their own":       {"mallory", func(m *machine) { m.draws(50, "pts/0", "pts/1") }, mallorysTerminal},
		"of a service":       {"_www", func(m *machine) { m.draws(50, "pts/0") }, ""},
		"of root at nothing": {"root", func(m *machine) { m.draws(50, "pts/1") }, ""},
		"in a container":     {"ann", func(m *machine) { m.draws(50, "pts/0"); m.isElsewhere(50) }, ""},
		"which lends rights": {"root", func(m *machine) { m.draws(50, "pts/0"); m.lend(50) }, ""},
		"of whom ann became": {"bob", func(m *machine) { m.process(15, 13, "bash", "bob", "pts/0"); m.draws(50, "pts/0") }, ""},
		"at a terminal there": {"bob", func(m *machine) {
			m.process(15, 13, "bash", "bob", "pts/0", "pts/9")
			m.process(16, 15, "bash", "bob", "pts/9")
			m.draws(50, "pts/9")
		}, ""},
		"where root is only asked for": {"root", func(m *machine) {
			m.described[14] = Description{System: true, Lent: true}
			m.draws(50, "pts/0")
		}, ""},
	} {
		m := tmux(c.account)
		c.change(m)
		if diff := cmp.Diff(c.want, shown(t, m)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// isElsewhere puts a process into a container.
func (m *machine) isElsewhere(pid int) {
	d := m.described[pid]
	d.Elsewhere = true
	m.described[pid] = d
}

// A session from which somebody is attached makes no other be another's, nor itself the caller's own: who is
// attached may be an intruder.
func TestWhoIsAttachedIsNotSurelyTheCaller(t *testing.T) {
	for _, from := range []string{"pts/0", "pts/2"} {
		m := tmux("ann")
		m.login(31, "ann", "pts/2", 4, "192.0.2.1:22", "203.0.113.66:5000")
		m.draws(50, from)
		m.Self = 51
		if _, got := summary(t, m); got != "203.0.113.66 possibly own, 203.0.113.7 possibly own, 203.0.113.8 others'" {
			t.Errorf("from %s: %s", from, got)
		}
	}
}

// The unit of a server ends it, too; what carries sessions besides is protected for that.
func TestUnitsOfServersOfTerminals(t *testing.T) {
	for unit, want := range map[string]bool{"user@1000.service": false, "ssh.service": true} {
		m := tmux("ann")
		m.draws(50, "pts/0")
		m.Self = 13
		for _, pid := range []int{50, 51} {
			m.described[pid] = Description{UID: 1000, User: "ann", Unit: unit}
		}
		m.described[11] = Description{System: true, Unit: "ssh.service"}
		model, _ := summary(t, m)
		if c := model.Units[unit]; c.Sessions == nil || c.EndsOwn() != want {
			t.Errorf("%s: %+v", unit, c)
		}
	}
}

// Who has the session of somebody else end with a server of terminals that is shown in the caller's does not make
// that unit be the caller's session: it can be ended.
func TestAUnitThatCarriesAnothersSessionBesideAServerOfTerminals(t *testing.T) {
	m := tmux("ann")
	m.draws(50, "pts/0")
	m.Self = 13
	m.described[50] = Description{UID: 1000, User: "ann", Unit: "ssh@7.service"}
	m.described[22] = Description{UID: 1001, User: "mallory", Unit: "ssh@7.service"}
	model, _ := summary(t, m)
	c := model.Units["ssh@7.service"]
	if len(c.Sessions) != 2 || len(c.Shown) != 1 || c.Whose() != Own || c.EndsOwn() || c.Apart() {
		t.Errorf("%+v: %v", c, c.Carrying())
	}
	own := model.Processes[13]
	if both := c.With(own); len(both.Sessions) != 2 || len(both.Shown) != 0 || !both.EndsOwn() {
		t.Errorf("with the caller's: %+v", both)
	}
	if both := own.With(c); len(both.Sessions) != 2 || len(both.Shown) != 0 || !both.EndsOwn() || len(own.Sessions) != 1 {
		t.Errorf("the caller's with it: %+v", both)
	}
}

// Users make as many servers and sessions as they like.
func TestManyServersOfTerminalsAreBounded(t *testing.T) {
	m := tmux("mallory")
	for n := range 100 {
		m.login(1000+3*n, "mallory", fmt.Sprintf("pts/%d", 100+n), 1000+n, "192.0.2.1:22", fmt.Sprintf("203.0.113.9:%d", 5000+n))
		m.draws(50, fmt.Sprintf("pts/%d", 100+n))
		m.process(5000+2*n, 1, "tmux: server", "mallory", "", fmt.Sprintf("pts/%d", 1000+n))
		m.process(5001+2*n, 5000+2*n, "bash", "mallory", fmt.Sprintf("pts/%d", 1000+n))
		m.draws(5000+2*n, "pts/1")
	}
	model, _ := summary(t, m)
	carry := 0
	for n := range 100 {
		if model.Processes[5000+2*n].Sessions != nil {
			carry++
		}
	}
	if got := len(model.Processes[50].Sessions); got != maxAttached || carry != maxCarrying {
		t.Errorf("%d sessions of one server, %d servers of one session", got, carry)
	}
}
