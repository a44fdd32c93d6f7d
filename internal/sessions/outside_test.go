// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// elsewhere moves processes into a container or network namespace.
func (m *machine) elsewhere(unit string, pids ...int) {
	for _, pid := range pids {
		d := m.described[pid]
		d.Elsewhere, d.Unit = true, unit
		m.described[pid] = d
	}
}

// rename gives processes a name.
func (m *machine) rename(name string, pids ...int) {
	for i, p := range m.Processes {
		if slices.Contains(pids, p.PID) {
			m.Processes[i].Name = name
		}
	}
}

// A session in a container is told to be there, though not with whom; nobody makes an address or a
// process immune with one.
func TestASessionInAContainerIsNotSilentlyAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*machine)
		want string // what the sentence is about; empty for none
	}{
		"a shell of docker exec": {func(m *machine) {
			m.process(30, 1, "containerd-shim", "root", "", "pts/0")
			m.process(31, 30, "bash", "root", "pts/0")
			m.elsewhere("docker-1.scope", 31)
		}, "\"bash\" (PID 31) at pts/0 of docker-1.scope is"},
		"sshd in a container": {func(m *machine) {
			m.process(30, 1, "sshd", "root", "", 900)
			m.process(31, 30, "sshd", "root", "", 901)
			m.process(32, 31, "sshd", "bob", "", 901, "pts/5")
			m.process(33, 32, "bash", "bob", "pts/5")
			m.elsewhere("libpod-2.scope", 30, 31, 32, 33)
		}, "\"bash\" (PID 33) at pts/5 of libpod-2.scope is"},
		"sshd without a terminal": {func(m *machine) {
			m.process(30, 1, "sshd", "root", "", 900)
			m.process(31, 30, "sshd", "root", "", 901)
			m.process(32, 31, "sshd", "bob", "", 901)
			m.process(33, 30, "sshd", "root", "", 902)
			d := m.described[33]
			d.CommandLine = []string{"sshd:", "[accepted]"}
			m.described[33] = d
			m.elsewhere("", 30, 31, 32, 33)
		}, "\"sshd\" (PID 31) of root is"},
		"a service with a network of its own": {func(m *machine) {
			m.process(30, 1, "ttyd", "_ttyd", "", 900, "pts/5")
			m.process(31, 30, "login", "root", "pts/5")
			m.elsewhere("ttyd.service", 30, 31)
		}, "\"login\" (PID 31) at pts/5 of ttyd.service is"},
		"many": {func(m *machine) {
			for i := range 9 {
				m.process(30+2*i, 1, "conmon", "bob", "", "pts/0")
				m.process(31+2*i, 30+2*i, "sh", "bob", "pts/0")
				m.elsewhere("", 31+2*i)
			}
		}, "\"sh\" (PID 31) at pts/0 of bob, \"sh\" (PID 33) at pts/0 of bob, \"sh\" (PID 35) at pts/0 of bob, 6 other programs are"},
		"a shell in tmux": {func(m *machine) {
			m.process(30, 1, "tmux", "bob", "", "pts/5")
			m.process(31, 30, "bash", "bob", "pts/5")
		}, ""},
		"a sandbox in a session that is seen": {func(m *machine) {
			m.process(30, 13, "bwrap", "ann", "pts/0")
			m.elsewhere("", 30)
		}, ""},
	} {
		m := sshd()
		m.process(99, 13, "sentinel", "root", "pts/0")
		m.Self = 99
		c.make(m)
		model, got := summary(t, m)
		want := "with whom " + c.want + " connected is not seen from here, since that is in another container or network namespace"
		if c.want == "" && len(model.Unseen) > 0 || c.want != "" && !slices.Equal(model.Unseen, []string{want}) {
			t.Errorf("%s: %q, want %q", name, model.Unseen, want)
		}
		server := model.Processes[30] // which end_session ends
		if got != "203.0.113.7 own" || len(model.Hidden()) > 0 || server.EndsOwn() || server.Listens && !server.Untrusted {
			t.Errorf("%s: %s, hidden %v, processes %v", name, got, model.Hidden(), model.Processes)
		}
	}
}

// An SSH server in a container, and what ends with it there, is not ended unless whoever asks wants that session to end.
func TestAnSSHServerInAContainerCarriesItsSessions(t *testing.T) {
	const at, in = "the session of bob at pts/5", ", in another container or network namespace"
	const own = "this call's own session of bob from 203.0.113.9 at pts/5"
	carried := map[int]string{20: "it carries " + at + in, 30: "people log in through it, as in " + at + in, 31: "it carries " + at + in, 32: "it carries " + at + in, 33: "it carries " + at + in}
	for name, c := range map[string]struct {
		make func(*machine)
		want map[int]string
	}{
		"of root": {func(*machine) {}, carried},
		"without a terminal": {func(m *machine) {
			m.Processes = m.Processes[:len(m.Processes)-1]
			m.files[32] = Files{Sockets: []SocketID{901}}
			m.Processes[len(m.Processes)-1].Terminal = ""
		}, map[int]string{20: "it carries the session of bob" + in, 30: "people log in through it, as in the session of bob" + in, 31: "it carries the session of bob" + in}},
		"of a user's container": {func(m *machine) {
			for _, pid := range []int{30, 31} {
				m.described[pid] = Description{UID: 1001, User: "eve", Elsewhere: true}
			}
		}, map[int]string{}},
		"of another name":       {func(m *machine) { m.rename("telnetd", 30, 31, 32) }, map[int]string{}},
		"that lends its rights": {func(m *machine) { m.lend(30); m.lend(31) }, map[int]string{}},
		"that carries the caller's own": {func(m *machine) {
			m.Self = 33
			m.tcp(901, "172.17.0.2:22", "203.0.113.9:5000")
			m.tcp(900, "172.17.0.2:22", "")
			for i := range m.Sockets[len(m.Sockets)-2:] {
				m.Sockets[len(m.Sockets)-1-i].Space = 1
			}
			m.Elsewhere = map[Space][]netip.Addr{1: {netip.MustParseAddr("172.17.0.2")}}
		}, map[int]string{
			31: "it carries " + own, 32: "it carries " + own, 33: "it carries " + own,
		}},
	} {
		m := sshd()
		m.process(20, 1, "init", "root", "")
		m.process(30, 20, "sshd", "root", "", 900)
		m.process(31, 30, "sshd", "root", "", 901)
		m.process(32, 31, "sshd", "bob", "", 901, "pts/5")
		m.process(33, 32, "bash", "bob", "pts/5")
		m.elsewhere("libpod-2.scope", 20, 30, 31, 32, 33)
		m.process(99, 13, "sentinel", "root", "pts/0")
		m.Self = 99
		c.make(m)
		model, _ := summary(t, m)
		for _, pid := range []int{1, 20, 30, 31, 32, 33} {
			got, known := "", model.Processes[pid]
			if known.Sessions != nil {
				got = known.Carrying()
			}
			if got != c.want[pid] {
				t.Errorf("%s: %d: %q, want %q", name, pid, got, c.want[pid])
			}
		}
	}
}

// In a container that has the network of the machine, the sockets of the machine's programs are seen,
// and those programs are not.
func TestConnectionsOfProgramsOutsideOfAContainerAreKept(t *testing.T) {
	make := func() *machine {
		m := &machine{Snapshot: Snapshot{Masters: true, Nested: true, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}
		m.tcp(1, "0.0.0.0:22", "")
		m.tcp(2, "192.0.2.1:22", "203.0.113.7:5000")
		m.tcp(3, "192.0.2.1:40000", "203.0.113.80:443") // went out
		m.tcp(4, "0.0.0.0:8080", "")
		m.tcp(5, "192.0.2.1:8080", "203.0.113.66:5000")
		m.process(5, 1, "web", "_web", "", 4, 5)
		m.process(20, 0, "bash", "root", "pts/0") // entered from outside
		m.process(21, 20, "sentinel", "root", "")
		m.Self = 21
		return m
	}
	model, got := summary(t, make())
	want := []string{
		"with whom \"bash\" (PID 20) at pts/0 of root is connected is not seen from here, since that is in another container or network namespace",
		"it is not seen whose 1 connection of another host is, since their programs are outside of this container",
	}
	if got != "203.0.113.7 possibly own" || !slices.Equal(model.Unseen, want) {
		t.Errorf("%s\n%q", got, model.Unseen)
	}
	if s := model.Addresses[netip.MustParseAddr("203.0.113.7")].AsPeer(); s != "the other end of the session of a program outside of this container from 203.0.113.7 (which may be this call's own)" {
		t.Error(s)
	}
	if _, known := model.Ports[Port{"tcp", 22}]; !known {
		t.Errorf("ports %v", model.Ports)
	}
	outside := make()
	outside.Nested = false
	if model, got = summary(t, outside); got != "" || len(model.Unseen) > 0 {
		t.Errorf("not in a container: %s, %q", got, model.Unseen)
	}
	own := make()
	own.tcp(6, "192.0.2.1:2222", "203.0.113.9:5000")
	own.tcp(7, "0.0.0.0:2222", "")
	own.process(10, 1, "sshd", "root", "", 7)
	own.process(11, 10, "sshd", "root", "", 6, "pts/1")
	own.process(12, 11, "bash", "root", "pts/1")
	own.Self = 12
	if _, got = summary(t, own); !strings.Contains(got, "203.0.113.7 others'") || !strings.Contains(got, "203.0.113.9 own") {
		t.Errorf("logged in to the container itself: %s", got)
	}
}
