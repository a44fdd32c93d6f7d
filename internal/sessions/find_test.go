// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
)

// A machine is made up in tests: processes with what they have open.
type machine struct {
	Snapshot
	files     map[int]Files
	described map[int]Description
	peers     []Peer
	peersErr  error // beside these
	tunnels   []Tunnel
	inside    map[netip.Addr]contained // containers
	unheld    bool
	traffic   []map[SocketID]Traffic // of one reading after the other
	unread    map[int]bool           // processes whose files are not all read
	skipped   *SkippedError          // why something is not read
	opened    []int
	// mastersErr is why not all that serve terminals are seen.
	mastersErr error
	unix       map[SocketID]Socket
	unixErr    error
	asked      []SocketID              // about Unix sockets
	wire       map[SocketID]netip.Addr // other addresses of packets
	wireErr    error
}

func (m *machine) Read(context.Context) (Snapshot, error) { return m.Snapshot, nil }

// tooMany is why something is not read.
func (m *machine) tooMany() error {
	if m.skipped != nil {
		return m.skipped
	}
	return errors.New("too many files")
}

func (m *machine) Open(_ context.Context, pid int) (Files, error) {
	m.opened = append(m.opened, pid)
	if m.unread[pid] {
		return m.files[pid], m.tooMany()
	}
	return m.files[pid], nil
}
func (m *machine) Serving(context.Context) (map[string][]int, error) {
	found := map[string][]int{}
	for _, p := range m.Processes {
		for _, terminal := range m.files[p.PID].Masters {
			found[terminal] = append(found[terminal], p.PID)
		}
	}
	return found, m.mastersErr
}
func (m *machine) Describe(_ context.Context, pid int) (Description, error) {
	return m.described[pid], nil
}
func (m *machine) Peers(context.Context, []uint16) ([]Peer, error) { return m.peers, m.peersErr }
func (m *machine) Traffic(context.Context) (map[SocketID]Traffic, error) {
	if len(m.traffic) == 0 {
		return nil, errors.New("the kernel does not tell")
	}
	now := m.traffic[0]
	m.traffic = m.traffic[1:]
	return now, nil
}
func (m *machine) Tunnels(context.Context, Connection) ([]Tunnel, error) {
	return m.tunnels, nil
}
func (m *machine) Unix(_ context.Context, list []SocketID) (found []Socket, err error) {
	m.asked = append(m.asked, list...)
	for _, id := range list {
		if k, ok := m.unix[id]; ok {
			found = append(found, k)
		}
	}
	return found, m.unixErr
}

func (m *machine) OnWire(_ context.Context, k Socket) (netip.Addr, error) {
	return m.wire[k.ID], m.wireErr
}
func (m *machine) Container(_ context.Context, host netip.Addr) (Container, bool, error) {
	c := m.inside[host]
	return c.Container, c.on, c.err
}
func (m *machine) Holders(_ context.Context, list []Socket) (map[SocketID][]int, error) {
	if m.unheld {
		return nil, m.tooMany()
	}
	found := map[SocketID][]int{}
	for _, k := range list {
		for pid, files := range m.files {
			if slices.Contains(files.Sockets, k.ID) {
				found[k.ID] = append(found[k.ID], pid)
			}
		}
		slices.Sort(found[k.ID])
	}
	return found, nil
}

// process adds one; account is root, a name of a person, or of the system with a leading underscore.
func (m *machine) process(pid, parent int, name, account, terminal string, open ...any) {
	p := Process{PID: pid, Parent: parent, Name: name, Terminal: terminal, Pseudo: strings.HasPrefix(terminal, "pts/"), Leader: pid}
	for _, above := range m.Processes {
		if above.PID == parent && above.Terminal == terminal {
			p.Leader = above.Leader
		}
	}
	m.Processes = append(m.Processes, p)
	if m.files == nil {
		m.files, m.described = map[int]Files{}, map[int]Description{}
	}
	var files Files
	for _, o := range open {
		switch o := o.(type) {
		case int:
			files.Sockets = append(files.Sockets, SocketID(o))
		case string:
			files.Masters = append(files.Masters, o)
		}
	}
	m.files[pid] = files
	m.described[pid] = Description{UID: uidOf(account), User: strings.TrimPrefix(account, "_"), System: account == "root" || account[0] == '_'}
}

// uidOf numbers the accounts; ann is 1000.
func uidOf(account string) int {
	switch sum := int(crc32.ChecksumIEEE([]byte(account)) % 800); {
	case account == "root":
		return 0
	case account == "ann":
		return 1000
	case account[0] == '_':
		return 100 + sum
	default:
		return 1001 + sum
	}
}

// tcp adds a connection, or a socket that listens where remote is empty.
func (m *machine) tcp(id int, local, remote string) { m.socket(id, "tcp", local, remote) }

func (m *machine) socket(id int, protocol, local, remote string) {
	k := Socket{ID: SocketID(id), Protocol: protocol, Local: netip.MustParseAddrPort(local)}
	if remote != "" {
		k.Remote, k.Established = netip.MustParseAddrPort(remote), protocol == "tcp"
	} else {
		k.Listening = protocol == "tcp"
	}
	m.Sockets = append(m.Sockets, k)
}

// sshd adds a server, and a session of ann from 203.0.113.7 at pts/0 with a shell (PID 13).
func sshd() *machine {
	m := &machine{Snapshot: Snapshot{Masters: true, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}
	m.tcp(1, "0.0.0.0:22", "")
	m.process(10, 1, "sshd", "root", "", 1)
	m.login(11, "ann", "pts/0", 2, "192.0.2.1:22", "203.0.113.7:5000")
	return m
}

// login adds an SSH session: the server's part of root (pid), that of the user, and a shell.
func (m *machine) login(pid int, user, terminal string, socket int, local, remote string) {
	m.tcp(socket, local, remote)
	m.process(pid, 10, "sshd", "root", "", socket)
	m.process(pid+1, pid, "sshd", user, "", socket, terminal)
	m.process(pid+2, pid+1, "bash", user, terminal)
}

// summary sums up a model: what is claimed, for whom.
func summary(t *testing.T, m *machine) (*Model, string) {
	t.Helper()
	model, err := Find(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	whose := []string{"others'", "possibly own", "own"}
	var list []string
	for a, c := range model.Addresses {
		list = append(list, a.String()+" "+whose[c.Whose()])
	}
	slices.Sort(list)
	return model, strings.Join(list, ", ")
}

func TestSessionsAreToldApartByTheWayUpToThem(t *testing.T) {
	for name, c := range map[string]struct {
		make func(*machine)
		want string
	}{
		"from the shell of the session": {func(m *machine) { m.process(50, 13, "sudo", "root", "pts/0"); m.Self = 50 }, "203.0.113.7 own, 203.0.113.8 others'"},
		"in a terminal of sudo": {func(m *machine) {
			m.process(50, 13, "sudo", "root", "pts/0", "pts/9")
			m.process(51, 50, "sentinel", "root", "pts/9")
			m.Self = 51
		}, "203.0.113.7 own, 203.0.113.8 others'"},
		"from a job of cron": {func(m *machine) { m.process(50, 1, "cron", "root", ""); m.Self = 50 }, "203.0.113.7 possibly own, 203.0.113.8 possibly own"},
		"in a tmux that was left running": {func(m *machine) {
			m.process(50, 1, "tmux", "ann", "", "pts/5")
			m.process(51, 50, "bash", "ann", "pts/5")
			m.Self = 51
		}, "203.0.113.7 possibly own, 203.0.113.8 others'"},
		"at the console": {func(m *machine) { m.process(50, 1, "login", "root", "tty1"); m.Self = 50 }, "203.0.113.7 others', 203.0.113.8 others'"},
		"from ann's desktop": {func(m *machine) {
			m.process(50, 1, "systemd", "ann", "")
			m.described[50] = Description{UID: 1000, User: "ann", Unit: "user@1000.service"}
			m.Logins = append(m.Logins, Login{ID: "2", Leader: 999, User: "ann", Manager: true, Seat: true})
			m.process(51, 50, "claude", "ann", "")
			m.Self = 51
		}, "203.0.113.7 possibly own, 203.0.113.8 others'"},
	} {
		m := sshd()
		m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000")
		c.make(m)
		if _, got := summary(t, m); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// handedOn has ann's shell call run0(1): a shell of root that process 1 has started (PID 60), and this run.
func handedOn() *machine {
	m := sshd()
	m.process(14, 13, "run0", "ann", "pts/0", "pts/9")
	m.process(60, 1, "bash", "root", "pts/9")
	m.process(61, 60, "sentinel", "root", "pts/9")
	m.Self = 61
	return m
}

// vnc is a desktop that Xvnc (PID 72) shows to 203.0.113.9, and this run in a terminal of it.
func vnc() *machine {
	m := sshd()
	m.tcp(70, "0.0.0.0:5901", "")
	m.tcp(71, "192.0.2.1:5901", "203.0.113.9:4000")
	m.process(70, 1, "vncsession", "root", "")
	m.process(71, 70, "vncserver", "bob", "")
	m.process(72, 71, "Xvnc", "bob", "", 70, 71)
	m.process(73, 71, "xfce4-terminal", "bob", "", "pts/7")
	m.process(74, 73, "bash", "bob", "pts/7")
	m.process(75, 74, "sentinel", "root", "pts/7")
	m.Logins = append(m.Logins, Login{ID: "c1", Leader: 70, User: "bob", Manager: true})
	m.Self = 75
	return m
}

// runs says which program of the system a process runs.
func (m *machine) runs(pid int, program string) {
	d := m.described[pid]
	d.Program = program
	m.described[pid] = d
}

// A record that names no other host does not show that somebody sits at the machine: whoever has begun that
// login may be elsewhere.
func TestALoginFromThisMachineIsNotOneAtItsScreen(t *testing.T) {
	record := Login{ID: "c5", Leader: 60, User: "root", Terminal: "pts/9", Manager: true}
	unseen := func() *machine { m := handedOn(); m.files[14] = Files{}; return m }
	seated := record
	seated.Seat = true
	for name, c := range map[string]struct {
		make   func() *machine
		login  *Login
		want   string
		hidden int
	}{
		"run0 without a record": {handedOn, nil, "203.0.113.7 own", 0},
		"run0":                  {handedOn, &record, "203.0.113.7 own", 0},
		"run0 that is not seen": {unseen, &record, "203.0.113.7 possibly own", 0},
		"at the screen":         {unseen, &seated, "203.0.113.7 others'", 0},
		"a desktop over VNC":    {func() *machine { m := vnc(); m.runs(72, "Xvnc"); return m }, nil, "203.0.113.7 possibly own, 203.0.113.9 possibly own", 0},
		"the screen, which is shown": {func() *machine {
			m := vnc()
			m.runs(72, "Xvnc")
			m.Logins[0].Seat = true
			return m
		}, nil, "203.0.113.7 others', 203.0.113.9 others'", 0},
		"by a user's service manager": {func() *machine {
			m := vnc()
			m.runs(72, "Xvnc")
			m.described[70] = Description{UID: 1000, User: "bob", Unit: "user@1000.service"}
			m.Logins[0].Leader = 999
			return m
		}, nil, "203.0.113.7 possibly own, 203.0.113.9 possibly own", 0},
		"what another user calls a server": {func() *machine {
			m := vnc()
			m.runs(72, "Xvnc")
			m.described[72] = Description{UID: 1001, User: "eve", Program: "Xvnc"}
			return m
		}, nil, "203.0.113.7 possibly own", 1},
		"one that something unknown shows": {vnc, nil, "203.0.113.7 possibly own", 1},
	} {
		m := c.make()
		if c.login != nil {
			m.Logins = append(m.Logins, *c.login)
		}
		if model, got := summary(t, m); got != c.want || len(model.Hidden()) != c.hidden {
			t.Errorf("%s: %s, want %s; hidden %+v", name, got, c.want, model.Hidden())
		}
	}
}

// The far end of a connection that stays on this machine is the beginning of a session, or a part of
// its way that cannot be seen.
func TestWhoConnectsFromThisMachineIsNoGap(t *testing.T) {
	local := Login{ID: "2", User: "bob", Manager: true}
	remote := Login{ID: "3", User: "bob", Manager: true, Remote: true}
	for name, c := range map[string]struct {
		account, terminal string
		logins            []Login
		gaps              int
	}{
		"a job":                            {"bob", "", nil, 0},
		"a terminal of a desktop":          {"bob", "pts/7", []Login{local}, 0},
		"a terminal of nobody who is here": {"bob", "pts/7", nil, 1},
		"somebody who is elsewhere, too":   {"bob", "pts/7", []Login{local, remote}, 1},
		"a daemon":                         {"_proxy", "", nil, 1},
	} {
		m := sshd()
		m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
		m.process(29, 1, "cron", "root", "")
		m.process(30, 29, "sh", c.account, c.terminal)
		m.process(31, 30, "ssh", c.account, c.terminal, 32)
		m.login(41, "ann", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		m.Logins, m.Self = c.logins, 43
		if model, _ := summary(t, m); len(model.Gaps) != c.gaps {
			t.Errorf("%s: %+v, want %d", name, model.Gaps, c.gaps)
		}
	}
}

// Every case is a login whose server has a name that nothing here knows.
func TestWhatCarriesASession(t *testing.T) {
	for name, c := range map[string]struct {
		make      func(*machine)
		addresses string
		processes []int
		ports     []Port
	}{
		"sshd": {func(*machine) {}, "203.0.113.7 own", []int{11, 12, 13}, []Port{{"tcp", 22}}},
		"a connection with another path, which this machine began": {func(m *machine) {
			m.tcp(3, "192.0.2.1:40000", "203.0.113.8:6000")
			m.Sockets[len(m.Sockets)-1].PathOf = 2
			m.files[11], m.files[12] = Files{Sockets: []SocketID{2, 3}}, Files{Sockets: []SocketID{2, 3}, Masters: []string{"pts/0"}}
		}, "203.0.113.7 own, 203.0.113.8 own", []int{11, 12, 13}, []Port{{"tcp", 22}}},
		"a server of root that holds the terminal": {func(m *machine) {
			m.tcp(31, "[::]:23", "")
			m.tcp(32, "[::ffff:192.0.2.1]:23", "[::ffff:203.0.113.9]:4000")
			m.process(30, 1, "x", "root", "", 31, 32, "pts/3")
			m.process(33, 30, "login", "root", "pts/3")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 33}, []Port{{"tcp", 22}, {"tcp", 23}}},
		"an agent of root that has called out": {func(m *machine) {
			m.tcp(32, "192.0.2.1:40000", "203.0.113.9:443")
			m.process(30, 1, "x", "root", "", 32)
			m.process(31, 30, "x", "root", "", "pts/3")
			m.process(33, 31, "sh", "bob", "pts/3")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 31, 33}, []Port{{"tcp", 22}}},
		"an agent of a service that has let somebody in": {func(m *machine) {
			m.tcp(32, "192.0.2.1:40000", "203.0.113.9:443")
			m.process(30, 1, "x", "_agent", "", 32, "pts/3")
			m.process(33, 30, "sh", "bob", "pts/3")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 33}, []Port{{"tcp", 22}}},
		"a command without a terminal": {func(m *machine) {
			m.tcp(32, "192.0.2.1:22", "203.0.113.9:5000")
			m.process(30, 10, "sshd", "root", "", 32)
			m.process(31, 30, "sshd", "bob", "", 32)
			m.process(33, 31, "rsync", "bob", "")
			m.process(34, 33, "cat", "bob", "")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 31, 33}, []Port{{"tcp", 22}}},
		"a terminal of sudo within the session": {func(m *machine) {
			m.process(30, 13, "sudo", "root", "pts/0", "pts/9")
			m.process(31, 30, "bash", "root", "pts/9")
		}, "203.0.113.7 own", []int{11, 12, 13, 30}, []Port{{"tcp", 22}}},
		"the monitor of sudo": {func(m *machine) {
			m.process(30, 13, "sudo", "ann", "pts/0", "pts/9")
			m.process(31, 30, "sudo", "ann", "pts/9")
			m.process(32, 31, "bash", "root", "pts/9")
			m.raise(30)
			m.raise(31)
		}, "203.0.113.7 own", []int{11, 12, 13, 30, 31}, []Port{{"tcp", 22}}},
		"a program between two that lend the rights of root": {func(m *machine) {
			m.process(30, 13, "sudo", "ann", "pts/0", "pts/9")
			m.process(31, 30, "x", "ann", "pts/0")
			m.process(32, 31, "sudo", "ann", "pts/9")
			m.raise(30)
			m.raise(32)
		}, "203.0.113.7 own", []int{11, 12, 13, 30}, []Port{{"tcp", 22}}},
		"what leads a terminal of sudo itself": {func(m *machine) {
			m.process(30, 13, "sudo", "ann", "pts/0", "pts/9")
			m.process(31, 30, "bash", "root", "pts/9")
			m.raise(30)
		}, "203.0.113.7 own", []int{11, 12, 13, 30}, []Port{{"tcp", 22}}},
		"a recorder in place of the shell": {func(m *machine) {
			m.files[13] = Files{Masters: []string{"pts/9"}}
			m.process(30, 13, "bash", "ann", "pts/9")
			m.process(31, 30, "vi", "ann", "pts/9")
		}, "203.0.113.7 own", []int{11, 12, 13, 30}, []Port{{"tcp", 22}}},
		"a recorder in place of the shell of another": {func(m *machine) {
			m.login(41, "bob", "pts/3", 33, "192.0.2.1:22", "203.0.113.9:4000")
			m.files[43] = Files{Masters: []string{"pts/9"}}
			m.process(44, 43, "script", "bob", "pts/9", "pts/10")
			m.process(45, 44, "bash", "bob", "pts/10")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 41, 42, 43, 44, 45}, []Port{{"tcp", 22}}},
		"a recorder that a shell has started": {func(m *machine) {
			m.process(30, 13, "script", "ann", "pts/0", "pts/9")
			m.process(31, 30, "script", "ann", "pts/9", "pts/10")
			m.process(32, 31, "bash", "ann", "pts/10")
		}, "203.0.113.7 own", []int{11, 12, 13, 30, 31}, []Port{{"tcp", 22}}},
		"somebody at the screen": {func(m *machine) {
			m.process(30, 1, "login", "root", "tty1")
			m.process(31, 30, "bash", "bob", "tty1")
			m.Logins = []Login{{ID: "2", Leader: 30, User: "bob", Terminal: "tty1", Manager: true, Seat: true}}
		}, "203.0.113.7 own", []int{11, 12, 13, 30, 31}, []Port{{"tcp", 22}}},
		"a service manager of a user": {func(m *machine) {
			m.process(30, 1, "systemd", "bob", "")
			m.process(31, 30, "web", "bob", "")
			m.Logins = []Login{{ID: "2", Leader: 30, User: "bob", Manager: true}}
		}, "203.0.113.7 own", []int{11, 12, 13}, []Port{{"tcp", 22}}},
		"UDP that is not connected": {func(m *machine) {
			m.socket(32, "udp", "192.0.2.1:60001", "")
			m.process(30, 1, "x", "bob", "", 32, "pts/3")
			m.process(33, 30, "sh", "bob", "pts/3")
			m.peers = []Peer{{60001, netip.MustParseAddr("203.0.113.9"), true}, {60001, netip.MustParseAddr("203.0.113.66"), false}}
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 33}, []Port{{"tcp", 22}, {"udp", 60001}}},
		"a proxy before the server": {func(m *machine) {
			m.tcp(30, "0.0.0.0:443", "")
			m.tcp(31, "192.0.2.1:443", "203.0.113.9:4000")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "x", "_proxy", "", 30, 31, 32)
			m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 41, 42, 43}, []Port{{"tcp", 22}, {"tcp", 443}}},
		"a proxy that reaches the server at an address that is routed to this machine": {func(m *machine) {
			m.tcp(30, "0.0.0.0:443", "")
			m.tcp(31, "192.0.2.1:443", "203.0.113.9:4000")
			m.tcp(32, "198.51.100.7:40000", "198.51.100.7:22")
			m.process(30, 1, "x", "_proxy", "", 30, 31, 32)
			m.login(41, "bob", "pts/3", 33, "198.51.100.7:22", "198.51.100.7:40000")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 41, 42, 43}, []Port{{"tcp", 22}, {"tcp", 443}}},
		"two proxies, one behind the other": {func(m *machine) {
			m.tcp(30, "0.0.0.0:443", "")
			m.tcp(31, "192.0.2.1:443", "203.0.113.9:4000")
			m.tcp(32, "127.0.0.1:40001", "127.0.0.1:8443")
			m.process(30, 1, "x", "_proxy", "", 30, 31, 32)
			m.tcp(34, "127.0.0.1:8443", "")
			m.tcp(35, "127.0.0.1:8443", "127.0.0.1:40001")
			m.tcp(36, "192.0.2.1:40000", "192.0.2.1:22")
			m.process(31, 1, "y", "_proxy", "", 34, 35, 36)
			m.login(41, "bob", "pts/3", 33, "192.0.2.1:22", "192.0.2.1:40000")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 31, 41, 42, 43}, []Port{{"tcp", 22}, {"tcp", 443}, {"tcp", 8443}}},
		"a reverse tunnel": {func(m *machine) {
			m.tcp(31, "192.0.2.1:40001", "203.0.113.9:22")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "ssh", "bob", "", 31, 32)
			m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 41, 42, 43}, []Port{{"tcp", 22}}},
		"a reverse tunnel whose client talks through another program": {func(m *machine) {
			m.tcp(31, "192.0.2.1:40001", "203.0.113.9:22")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "ssh", "bob", "", 32)
			m.process(34, 30, "nc", "bob", "", 31)
			m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		}, "203.0.113.7 own, 203.0.113.9 others'", []int{11, 12, 13, 30, 34, 41, 42, 43}, []Port{{"tcp", 22}}},
		"from another session": {func(m *machine) {
			m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 23, "ssh", "mallory", "pts/1", 32)
			m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		}, "203.0.113.7 own, 203.0.113.8 others'", []int{11, 12, 13, 21, 22, 23, 30, 41, 42, 43}, []Port{{"tcp", 22}}},
		"through a port that another session forwards": {func(m *machine) {
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.tcp(34, "192.0.2.1:40002", "203.0.113.66:80")
			m.files[12] = Files{Sockets: []SocketID{2, 32, 34}, Masters: []string{"pts/0"}}
			m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		}, "203.0.113.7 own", []int{11, 12, 13, 41, 42, 43}, []Port{{"tcp", 22}}},
		"a tunnel of the network": {func(m *machine) {
			m.process(60, 1, "wg", "root", "")
			m.tunnels = []Tunnel{{Interface: "t0", Addresses: []netip.Addr{netip.MustParseAddr("203.0.113.99")}, Ports: []Port{{"udp", 51820}}, Processes: []int{60}}}
		}, "203.0.113.7 own, 203.0.113.99 own", []int{11, 12, 13, 60}, []Port{{"tcp", 22}, {"udp", 51820}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := sshd()
			m.process(50, 13, "sentinel", "root", "pts/0")
			m.Self = 50
			c.make(m)
			model, got := summary(t, m)
			if got != c.addresses {
				t.Errorf("addresses: %s, want %s", got, c.addresses)
			}
			var processes []int
			for pid, claim := range model.Processes {
				if !claim.Listens {
					processes = append(processes, pid)
				}
			}
			slices.Sort(processes)
			if !slices.Equal(processes, c.processes) {
				t.Errorf("processes: %v, want %v", processes, c.processes)
			}
			if !model.Processes[10].Listens {
				t.Errorf("the server that takes logins: %+v", model.Processes[10])
			}
			var ports []Port
			for p := range model.Ports {
				ports = append(ports, p)
			}
			slices.SortFunc(ports, func(a, b Port) int { return int(a.Number) - int(b.Number) })
			if !slices.Equal(ports, c.ports) {
				t.Errorf("ports: %v, want %v", ports, c.ports)
			}
			if len(model.Gaps) > 0 {
				t.Errorf("gaps: %+v", model.Gaps)
			}
		})
	}
}

// What an ordinary user can do without anybody logging in must not make an address one of a session.
// Any user can begin a connection from an address that is not this machine's (IPV6_FREEBIND), and listen at a
// port of somebody else's connection that went out.
func TestNobodyHidesTheConnectionOfAnother(t *testing.T) {
	for name, c := range map[string]func(*machine){
		"a mirror that nobody answers": func(m *machine) {
			m.Sockets = append(m.Sockets, Socket{ID: 90, Protocol: "tcp", Local: netip.MustParseAddrPort("203.0.113.7:5000"), Remote: netip.MustParseAddrPort("192.0.2.1:22"), UID: 1002})
			m.tcp(91, "192.0.2.1:40000", "203.0.113.66:443")
			m.process(90, 1, "x", "mallory", "", 90, 91)
		},
		"a listener at the port of a connection that went out": func(m *machine) {
			m.tcp(32, "192.0.2.1:40000", "203.0.113.9:443")
			m.tcp(33, "192.0.2.1:40001", "203.0.113.10:443")
			m.process(30, 1, "agent", "root", "", 33)
			m.process(31, 30, "worker", "root", "", 32)
			m.process(32, 31, "sh", "root", "", "pts/3")
			m.process(33, 32, "sh", "bob", "pts/3")
			m.Sockets = append(m.Sockets, Socket{ID: 90, Protocol: "tcp", Local: netip.MustParseAddrPort("[::]:40001"), Listening: true, UID: 1002})
			m.process(90, 1, "x", "mallory", "", 90)
		},
	} {
		m := sshd()
		m.process(50, 13, "sentinel", "root", "pts/0")
		m.Self = 50
		c(m)
		model, got := summary(t, m)
		want := "203.0.113.7 own"
		if strings.HasPrefix(name, "a listener") {
			want += ", 203.0.113.9 others'"
		}
		if got != want || len(model.Processes[90].Sessions) > 0 || len(model.Gaps) > 0 {
			t.Errorf("%s: %s, want %s; %+v, gaps %+v", name, got, want, model.Processes[90], model.Gaps)
		}
	}
}

func TestAnOrdinaryUserCannotClaimAnAddress(t *testing.T) {
	for name, do := range map[string]func(*machine){
		"calls itself sshd": func(m *machine) {
			m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443")
			m.process(30, 1, "sshd", "mallory", "", 31)
		},
		"serves a terminal and connects": func(m *machine) {
			m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443")
			m.socket(32, "udp", "192.0.2.1:40001", "203.0.113.66:443")
			m.process(30, 1, "mosh-server", "mallory", "", 31, 32, "pts/4")
			m.process(33, 30, "sh", "mallory", "pts/4")
		},
		"sends packets to a server of theirs from any address": func(m *machine) {
			m.socket(31, "udp", "[2001:db8::1]:60001", "")
			m.process(30, 1, "x", "mallory", "", 31, "pts/4")
			m.process(33, 30, "sh", "mallory", "pts/4")
			m.peers = []Peer{{60001, netip.MustParseAddr("2001:db8:66::66"), true}}
		},
		"is the shell of a service": func(m *machine) {
			m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443")
			m.process(30, 1, "python", "_www", "", 31, "pts/4")
			m.process(33, 30, "sh", "_www", "pts/4")
		},
		"is the shell of a service and takes packets": func(m *machine) {
			m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443")
			m.socket(32, "udp", "192.0.2.1:40001", "")
			m.process(30, 1, "python", "_www", "", 31, 32, "pts/4")
			m.process(33, 30, "sh", "_www", "pts/4")
			m.peers = []Peer{{40001, netip.MustParseAddr("203.0.113.66"), false}}
		},
		"is the shell of a service and is asked for a password": func(m *machine) {
			m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443")
			m.process(30, 1, "python", "_www", "", 31, "pts/4")
			m.process(33, 30, "sh", "_www", "pts/4")
			m.process(34, 33, "su", "root", "pts/4")
			m.described[34] = Description{System: true, User: "root", Program: "su", Lent: true}
		},
		"has sshd forward": func(m *machine) {
			m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000")
			m.tcp(31, "192.0.2.1:40000", "203.0.113.66:443")
			m.files[22] = Files{Sockets: []SocketID{3, 31}, Masters: []string{"pts/1"}}
		},
		"waits for an answer": func(m *machine) {
			m.tcp(31, "192.0.2.1:22", "203.0.113.66:443")
			m.Sockets[len(m.Sockets)-1].Established = false
			m.process(30, 10, "sshd", "root", "", 31)
		},
		"sends packets from a reverse tunnel": func(m *machine) {
			m.socket(31, "udp", "192.0.2.1:40001", "203.0.113.66:22")
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "ssh", "mallory", "", 31, 32)
			m.login(41, "mallory", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		},
		"writes a record of who is logged in": func(m *machine) {
			m.process(30, 1, "x", "mallory", "", "pts/4")
			m.process(33, 30, "sh", "mallory", "pts/4")
			m.Logins = append(m.Logins, Login{Terminal: "pts/4", User: "mallory", From: netip.MustParseAddr("203.0.113.66"), Remote: true})
		},
		"connects a proxy to hundreds": func(m *machine) {
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			open := []any{32}
			for i := range 200 {
				m.tcp(100+i, fmt.Sprintf("192.0.2.1:%d", 41000+i), netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i + 20)}), 80).String())
				open = append(open, 100+i)
			}
			m.process(30, 1, "x", "mallory", "", open...)
			m.login(41, "mallory", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		},
	} {
		m := sshd()
		m.process(50, 13, "sentinel", "root", "pts/0")
		m.Self = 50
		do(m)
		model, got := summary(t, m)
		if strings.Contains(got, "203.0.113.66") || strings.Contains(got, "2001:db8:66") {
			t.Errorf("%s: %s", name, got)
		}
		if hidden := model.Hidden(); len(hidden) > 0 {
			t.Errorf("%s keeps others from blocking: %+v", name, hidden)
		}
	}
}

// Everybody can have terminals with the numbers of others', in a devpts of their own.
func TestATerminalOfTheSameNumberHidesNoSession(t *testing.T) {
	m := sshd()
	m.Logins = append(m.Logins, Login{ID: "1", Leader: 11, User: "ann", Terminal: "pts/0", From: netip.MustParseAddr("203.0.113.7"), Remote: true, Manager: true})
	m.socket(30, "udp", "192.0.2.1:60001", "")
	m.process(20, 1, "mosh-server", "bea", "", 30, "pts/7")
	m.process(21, 20, "bash", "bea", "pts/7")
	m.peers = []Peer{{Port: 60001, Address: netip.MustParseAddr("203.0.113.9"), Came: true}}
	m.tcp(41, "192.0.2.1:8080", "203.0.113.66:5000")
	m.tcp(42, "0.0.0.0:8080", "")
	m.process(40, 1, "x", "mallory", "", 41, 42, "pts/0", "pts/7")
	m.process(43, 40, "sh", "mallory", "pts/0")
	m.process(44, 40, "sh", "mallory", "pts/7")
	m.process(50, 21, "sentinel", "root", "")
	m.Self = 50
	model, got := summary(t, m)
	if want := "203.0.113.66 others', 203.0.113.7 others', 203.0.113.9 own"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c := model.Processes[40].String(); !strings.Contains(c, "the session of mallory from 203.0.113.66") || strings.Contains(c, "ann") {
		t.Errorf("mallory's is %s", c)
	}
}

// Where the caller's own session goes on is not known, any address may carry it.
func TestWhatIsNotKnownOfTheOwnSessionIsAGap(t *testing.T) {
	for name, do := range map[string]func(*machine){
		"nobody holds the other end": func(m *machine) { m.unheld = true; m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22") },
		"there is no other end":      func(*machine) {},
		"the program has no way on": func(m *machine) {
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.process(30, 1, "ssh", "bob", "", 32)
		},
	} {
		m := sshd()
		m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		m.process(50, 43, "sentinel", "root", "pts/3")
		m.Self = 50
		do(m)
		model, _ := summary(t, m)
		if len(model.Hidden()) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
		m.Self = 13
		if model, _ = summary(t, m); len(model.Hidden()) > 0 {
			t.Errorf("%s, of somebody else: %+v", name, model.Hidden())
		}
	}
}

// What was not looked at may be the caller's own session, but that of who reached a bound of their own.
func TestWhatWasNotLookedAtMayCarryTheSession(t *testing.T) {
	skipped := &SkippedError{Users: []int{33, 0}, Err: errors.New("too many files of www-data")}
	for name, do := range map[string]func(*machine){
		"who holds the other end": func(m *machine) {
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.unheld = true
		},
		"a proxy": func(m *machine) {
			m.tcp(32, "127.0.0.1:40000", "127.0.0.1:22")
			m.tcp(34, "192.0.2.1:443", "203.0.113.9:50000")
			m.process(30, 1, "haproxy", "bob", "", 32, 34)
			m.unread = map[int]bool{30: true}
		},
		"what this run comes from": func(m *machine) { m.unread = map[int]bool{43: true} },
	} {
		m := sshd()
		m.login(41, "bob", "pts/3", 33, "127.0.0.1:22", "127.0.0.1:40000")
		m.process(50, 43, "sentinel", "root", "pts/3")
		m.Self, m.skipped = 50, skipped
		do(m)
		model, _ := summary(t, m)
		if model.Hides(0, true) != "" {
			t.Errorf("%s, of root in a container that reached a bound: %q", name, model.Hides(0, true))
		}
		for uid, hides := range map[int]bool{0: true, 33: false, 109: true} {
			if got := model.Hides(uid, false); strings.Contains(got, skipped.Error()) != hides || (got == "") == hides {
				t.Errorf("%s, of account %d: %q", name, uid, got)
			}
		}
		m.skipped = nil
		if model, _ = summary(t, m); model.Hides(0, false) != "" {
			t.Errorf("%s, which no bound hides: %s", name, model.Hides(0, false))
		}
		m.skipped, m.Self = skipped, 13
		if model, _ = summary(t, m); model.Hides(0, false) != "" {
			t.Errorf("%s, of somebody else: %s", name, model.Hides(0, false))
		}
	}
}

// Beside the peers of a UDP port that were found there may be others.
func TestPeersThatWereNotReadAreSaid(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"all were read": {},
		"there are more": {errors.New("more than 4096 hosts talk with it over UDP"), []string{
			"with whom the server at UDP port 60001 talks is not all known (more than 4096 hosts talk with it over UDP), which carries this call's own session of bob from 203.0.113.9 at pts/3",
		}},
	} {
		m := sshd()
		m.socket(32, "udp", "192.0.2.1:60001", "")
		m.process(30, 1, "mosh-server", "bob", "", 32, "pts/3")
		m.process(33, 30, "sh", "bob", "pts/3")
		m.process(50, 33, "sentinel", "root", "pts/3")
		m.Self, m.peersErr = 50, c.err
		m.peers = []Peer{{60001, netip.MustParseAddr("203.0.113.9"), true}}
		model, got := summary(t, m)
		var said []string
		for _, g := range model.Hidden() {
			said = append(said, g.Why)
		}
		if got != "203.0.113.7 others', 203.0.113.9 own" || !slices.Equal(said, c.want) {
			t.Errorf("%s: %s, %q, want %q", name, got, said, c.want)
		}
	}
}

// The server of the caller's session may be in another network namespace, which has addresses and ports
// of its own.
func TestASessionInAnotherNetworkNamespaceIsFound(t *testing.T) {
	m := sshd()
	inside := func(id int, local, remote string) {
		m.tcp(id, local, remote)
		m.Sockets[len(m.Sockets)-1].Space = 1
	}
	m.Elsewhere = map[Space][]netip.Addr{1: {netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("203.0.113.7")}}
	inside(60, "0.0.0.0:2222", "")
	inside(61, "10.0.0.2:2222", "192.0.2.1:40000") // by way of a proxy in this one
	inside(62, "127.0.0.1:40001", "127.0.0.1:22")
	m.process(60, 1, "x", "root", "", 60)
	m.process(61, 60, "x", "root", "", 61, "pts/6")
	m.process(62, 61, "sh", "bob", "pts/6")
	m.tcp(70, "0.0.0.0:443", "")
	m.tcp(71, "192.0.2.1:443", "203.0.113.9:4000")
	m.tcp(72, "192.0.2.1:40000", "10.0.0.2:2222")
	m.process(70, 1, "y", "_proxy", "", 70, 71, 72)
	m.Self = 62
	model, got := summary(t, m)
	if want := "203.0.113.7 others', 203.0.113.9 own"; got != want {
		t.Errorf("%s, want %s; gaps %v", got, want, model.Gaps)
	}
	for port, want := range map[Port]bool{{"tcp", 443}: true, {"tcp", 2222}: false} {
		if _, known := model.Ports[port]; known != want {
			t.Errorf("port %v: %t", port, known)
		}
	}
	if c := model.Processes[70]; c.Sessions == nil || c.Whose() != Own {
		t.Errorf("the proxy: %v", c)
	}
}

func TestSessionsAreToldAsData(t *testing.T) {
	since := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	c := Claim{How: "through x (PID 3)"}
	for i := range 12 {
		c.Sessions = append(c.Sessions, &Session{User: fmt.Sprint("u", i), Local: true})
	}
	var from []netip.Addr
	for i := range byte(7) {
		from = append(from, netip.AddrFrom4([4]byte{203, 0, 113, i}))
	}
	c.Sessions[11] = &Session{User: "an\x1bn", From: from, Since: since, Terminal: "pts/0", Whose: Own}
	d := c.Data()
	own := fault.Session{
		User: "an\ufffdn", From: []string{"203.0.113.0", "203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"},
		Since: "2026-05-04T03:02:01Z", Terminal: "pts/0", Whose: "own",
	}
	if diff := cmp.Diff(own, d.Sessions[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(fault.Session{User: "u0", From: []string{}, Local: true, Whose: "others"}, d.Sessions[1]); diff != "" || len(d.Sessions) != maxData || d.Total != 12 || d.Through != c.How {
		t.Errorf("%+v %s", d, diff)
	}
}

// A server of root may start a program without a terminal, and without a record of who logged in.
func TestTheCallersSessionIsFoundWithoutATerminal(t *testing.T) {
	for account, want := range map[string]string{"root": "203.0.113.7 others', 203.0.113.9 own", "ann": "203.0.113.7 possibly own"} {
		m := sshd()
		m.tcp(31, "0.0.0.0:2222", "")
		m.tcp(32, "192.0.2.1:2222", "203.0.113.9:4000")
		m.process(30, 1, "x", account, "", 32)
		m.process(33, 30, "sh", "ann", "")
		m.process(34, 33, "sentinel", "root", "")
		m.Self = 34
		if _, got := summary(t, m); got != want {
			t.Errorf("of %s: %s, want %s", account, got, want)
		}
	}
}

// One that takes connections itself has many, none of which its children came in by.
func TestWhoIsConnectedToAServerAboveTheCallerIsNotTheCaller(t *testing.T) {
	m := sshd()
	m.tcp(31, "0.0.0.0:8080", "")
	m.tcp(32, "192.0.2.1:8080", "203.0.113.9:4000")
	m.process(30, 1, "x", "root", "", 31, 32)
	m.process(33, 30, "sh", "bob", "")
	m.process(34, 33, "sentinel", "root", "")
	m.Self = 34
	if _, got := summary(t, m); strings.Contains(got, "203.0.113.9") {
		t.Error(got)
	}
}

// Anybody can call a program sshd, and see to it that looking at what it has open takes long.
func TestProgramThatOnlyCallsItselfSSHDIsNotOpened(t *testing.T) {
	m := sshd()
	m.process(60, 1, "sshd", "mallory", "")
	m.process(61, 60, "sshd", "mallory", "")
	m.process(62, 1, "sshd", "root", "")
	m.process(63, 62, "sshd", "mallory", "")
	m.lend(62)
	m.process(64, 1, "sshd", "_www", "")
	m.process(65, 64, "sshd", "_www", "")
	summary(t, m)
	if slices.ContainsFunc(m.opened, func(pid int) bool { return pid >= 60 }) || !slices.Contains(m.opened, 11) {
		t.Errorf("opened %v", m.opened)
	}
}

// Who has only connected to an SSH server has no session.
func TestSessionOverSSHIsWhoLoggedIn(t *testing.T) {
	type process struct {
		name, title, account string
	}
	for name, c := range map[string]struct {
		holders []process
		want    bool
	}{
		"a user":                      {[]process{{"sshd", "sshd: ann [priv]", "root"}, {"sshd", "sshd: ann@notty", "ann"}}, true},
		"root":                        {[]process{{"sshd", "sshd: root@notty", "root"}}, true},
		"a newer sshd":                {[]process{{"sshd-session", "sshd-session: ann [priv]", "root"}, {"sshd-session", "sshd-session: ann@notty", "ann"}}, true},
		"waiting":                     {[]process{{"sshd", "sshd: root [priv]", "root"}, {"sshd", "sshd: root [net]", "_sshd"}}, false},
		"just accepted":               {[]process{{"sshd", "sshd: [accepted]", "root"}, {"sshd", "sshd: [net]", "_sshd"}}, false},
		"accepted by a newer":         {[]process{{"sshd-session", "sshd-session: [accepted]", "root"}}, false},
		"just begun":                  {[]process{{"sshd", "/usr/sbin/sshd -D -R", "root"}}, false},
		"a newer just begun":          {[]process{{"sshd-session", "/usr/libexec/sshd-session -D -R", "root"}}, false},
		"just begun, activated":       {[]process{{"sshd", "sshd -i", "root"}}, false},
		"in the server":               {[]process{{"sshd", "sshd: /usr/sbin/sshd -D [listener] 1 of 10-100 startups", "root"}}, false},
		"waiting in a newer one":      {[]process{{"sshd-session", "sshd-session: root [priv]", "root"}, {"sshd-auth", "sshd-auth: root [net]", "_sshd"}}, false},
		"a newer one's helper":        {[]process{{"sshd-session", "sshd-session: a [priv]", "root"}, {"sshd-auth", "sshd-auth: a", "_sshd"}}, false},
		"somebody's of that name":     {[]process{{"sshd", "sshd: root@pts/0", "mallory"}}, false},
		"a title that cannot be read": {[]process{{"sshd", "", "root"}}, true},
	} {
		m := &machine{Snapshot: Snapshot{Masters: true}}
		m.tcp(1, "0.0.0.0:22", "")
		m.tcp(2, "192.0.2.1:22", "203.0.113.7:5000")
		for i, p := range c.holders {
			m.process(10+i, 9+i, p.name, p.account, "", 2)
			d := m.described[10+i]
			d.CommandLine = strings.Fields(p.title)
			m.described[10+i] = d
		}
		want := ""
		if c.want {
			want = "203.0.113.7 possibly own"
		}
		if _, got := summary(t, m); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Dropbear says nothing about who is logged in: what its process does for a client shows it.
func TestSessionOfDropbearIsWhoLoggedIn(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*machine)
		want bool
	}{
		"connected alone":    {func(*machine) {}, false},
		"connected by inetd": {func(m *machine) { m.files[11] = Files{Sockets: []SocketID{2, 2, 2}} }, false},
		"logs to the system": {func(m *machine) { m.files[11] = Files{Sockets: []SocketID{2, 77}} }, false},
		"connected over two paths": {func(m *machine) {
			m.tcp(3, "192.0.2.1:22", "203.0.113.8:5000")
			m.Sockets[len(m.Sockets)-1].PathOf = 2
			m.files[11] = Files{Sockets: []SocketID{2, 3}}
		}, false},
		"runs a command": {func(m *machine) { m.process(12, 11, "rsync", "bob", "") }, true},
		"has a terminal": {func(m *machine) { m.files[11] = Files{Sockets: []SocketID{2}, Masters: []string{"pts/4"}} }, true},
		"forwards a connection": {func(m *machine) {
			m.tcp(3, "127.0.0.1:4000", "127.0.0.1:80")
			m.files[11] = Files{Sockets: []SocketID{2, 3}}
		}, true},
		"listens for the client":       {func(m *machine) { m.tcp(3, "127.0.0.1:4000", ""); m.files[11] = Files{Sockets: []SocketID{2, 3}} }, true},
		"is recorded":                  {func(m *machine) { m.Logins = []Login{{ID: "4", Leader: 11, User: "bob", Manager: true, Remote: true}} }, true},
		"with files that are not read": {func(m *machine) { m.unread = map[int]bool{11: true} }, true},
		"where files tell little":      {func(m *machine) { m.Masters = false }, true},
	} {
		m := &machine{Snapshot: Snapshot{Masters: true}}
		m.tcp(1, "0.0.0.0:22", "")
		m.tcp(2, "192.0.2.1:22", "203.0.113.7:5000")
		m.process(10, 1, "dropbear", "root", "", 1)
		m.process(11, 10, "dropbear", "root", "", 2)
		c.do(m)
		if _, got := summary(t, m); strings.HasPrefix(got, "203.0.113.7 ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Who logs in often hides nobody else from those who are told whose sessions would end.
func TestSessionsOfOthersAreNamedBesideMany(t *testing.T) {
	c := Claim{}
	for range 20 {
		c.Sessions = append(c.Sessions, &Session{User: "eve"})
	}
	c.Sessions = append(c.Sessions, &Session{User: "root"}, &Session{User: "bob"}, &Session{User: "ann", Whose: Own})
	if got, want := c.String(), "this call's own session of ann and the session of eve and the session of root and 20 more sessions"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	var users []string
	for _, s := range c.Data().Sessions[:5] {
		users = append(users, s.User)
	}
	if want := []string{"ann", "eve", "root", "bob", "eve"}; !slices.Equal(users, want) {
		t.Errorf("told %q, want %q", users, want)
	}
}
