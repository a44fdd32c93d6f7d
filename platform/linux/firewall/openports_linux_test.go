// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/sessions"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/systemd"
)

// A machine is made of answers.
type machine struct {
	quiet
	list       []network.Socket
	owners     map[uint64]network.Owner
	uids       map[int]int
	lending    int // a process whose program lends rights; 0 for none
	parents    map[int]int
	denied     bool
	socketsErr error
	ownersErr  error
	booted     bool
	streams    []string
	streamsErr error
	out        []sessions.Tunnel
	known      map[string]systemd.UnitState
	files      []string
	sshd       sysexec.Result
	sshdErr    error
}

func (m *machine) Sockets(_ context.Context, visit func(network.Socket)) error {
	for _, s := range m.list {
		visit(s)
	}
	return m.socketsErr
}

func (m *machine) Owners(context.Context, []network.Socket) (map[uint64]network.Owner, bool, error) {
	return m.owners, m.denied, m.ownersErr
}

func (m *machine) Interfaces(context.Context) ([]network.Interface, error) { return nil, nil }

func (m *machine) Running() bool { return m.booted }

func (m *machine) State(_ context.Context, name string) systemd.UnitState { return m.known[name] }

func (m *machine) Listening(context.Context, []string) ([]string, error) {
	return m.streams, m.streamsErr
}

func (m *machine) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return m.sshd, m.sshdErr
}

func (m *machine) uid(pid int) (int, error) {
	if uid, ok := m.uids[pid]; ok {
		return uid, nil
	}
	return 0, errors.New("no such process")
}

func (m *machine) process(pid int) (procfs.ProcessStat, error) {
	for _, o := range m.owners {
		if o.PID == pid {
			return procfs.ProcessStat{PID: pid, Name: o.Name, ParentPID: m.parents[pid]}, nil
		}
	}
	return procfs.ProcessStat{PID: pid, Name: "sshd"}, nil
}

func (m *machine) manager() *Manager {
	return &Manager{
		root:   "/no-root",
		runner: m, units: m, rules: ruleset{func() (*nftables.Conn, error) { return (&fakeKernel{}).dial() }},
		detach:    func(string, ...string) error { return nil },
		state:     stateFile{"/var/lib/no-sentinel/firewall.json"},
		installed: func(path string) bool { return slices.Contains(m.files, path) },
		sockets: sockets{
			out:     func(context.Context) ([]sessions.Tunnel, error) { return m.out, nil },
			network: m, uid: m.uid, lends: func(pid int) bool { return pid == m.lending }, process: m.process,
			ephemeral: func() (uint16, uint16) { return 32768, 60999 },
			track:     func(_ context.Context, list []conntrack.Connection) int { return len(list) },
			table:     func(string, func(procfs.Socket)) error { return nil },
		},
	}
}

func listener(protocol network.Protocol, local string, id uint64) network.Socket {
	return network.Socket{Protocol: protocol, State: network.Listen, Local: netip.MustParseAddrPort(local), ID: id}
}

func session(local string, id uint64) network.Socket {
	return network.Socket{
		Protocol: network.TCP, State: network.Established, ID: id,
		Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort("203.0.113.9:50000"),
	}
}

func TestPortsOfRemoteSessionsAreFound(t *testing.T) {
	root := map[int]int{10: 0, 11: 0, 20: 1000, 30: 1000}
	bound, routed := listener(network.TCP, "0.0.0.0:22", 1), listener(network.TCP, "127.0.0.1:22", 1)
	bound.Inside, routed.Routed = true, true
	for name, c := range map[string]struct {
		m    machine
		want []firewall.Port
	}{
		"a server of root": {machine{
			list: []network.Socket{listener(network.TCP, "[::]:2222", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: root,
		}, []firewall.Port{tcp(2222)}},
		"dropbear": {machine{
			list: []network.Socket{listener(network.TCP, "0.0.0.0:22", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "dropbear"}}, uids: root,
		}, []firewall.Port{tcp(22)}},
		"a user's program called sshd": {machine{
			list: []network.Socket{listener(network.TCP, "0.0.0.0:4444", 1)}, owners: map[uint64]network.Owner{1: {PID: 20, Name: "sshd"}}, uids: root,
			parents: map[int]int{20: 99},
		}, nil},
		"a program with root's rights that a user called sshd": {machine{
			list: []network.Socket{listener(network.TCP, "0.0.0.0:4444", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: root, lending: 10,
		}, nil},
		"a user's program below one": {machine{
			list: []network.Socket{listener(network.TCP, "0.0.0.0:4444", 1)}, owners: map[uint64]network.Owner{1: {PID: 20, Name: "sshd"}, 2: {PID: 11, Name: "sshd"}}, uids: root,
			parents: map[int]int{20: 11}, lending: 11,
		}, nil},
		"on loopback alone": {machine{
			list: []network.Socket{listener(network.TCP, "127.0.0.1:22", 1), listener(network.TCP, "[::1]:22", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: root,
		}, nil},
		"bound to the interface lo": {machine{
			list: []network.Socket{bound}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: root,
		}, nil},
		"on loopback, with packets of others routed to it": {machine{
			list: []network.Socket{routed}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: root,
		}, []firewall.Port{tcp(22)}},
		"a session without a listener": {machine{
			list: []network.Socket{session("192.0.2.1:2200", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd-session"}}, uids: root,
		}, []firewall.Port{tcp(2200)}},
		"a session that is its user's by now": {machine{
			list: []network.Socket{session("192.0.2.1:22", 1)}, owners: map[uint64]network.Owner{1: {PID: 20, Name: "sshd"}, 2: {PID: 11, Name: "sshd"}}, uids: root,
			parents: map[int]int{20: 11},
		}, []firewall.Port{tcp(22)}},
		"a port that a session of root forwards": {machine{
			list: []network.Socket{session("192.0.2.1:45000", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: root,
		}, nil},
		"a server on a port of clients": {machine{
			list:   []network.Socket{session("192.0.2.1:45000", 1), listener(network.TCP, "0.0.0.0:45000", 2)},
			owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}, 2: {PID: 1, Name: "systemd"}}, uids: root,
		}, []firewall.Port{tcp(45000)}},
		"a socket of systemd": {machine{booted: true, streams: []string{"[::]:2223", "/run/x", "127.0.0.1:9"}}, []firewall.Port{tcp(2223)}},
		"the configuration":   {machine{files: []string{"/usr/sbin/sshd"}, sshd: sysexec.Result{Stdout: []byte("port 22\nport 2224\n")}}, []firewall.Port{tcp(22), tcp(2224)}},
		"no server at all":    {machine{list: []network.Socket{listener(network.TCP, "0.0.0.0:80", 1)}, owners: map[uint64]network.Owner{1: {PID: 10, Name: "nginx"}}, uids: root}, nil},
	} {
		d, err := c.m.manager().OpenPorts(t.Context())
		if err != nil || !slices.Equal(union(d.Remote, nil), c.want) {
			t.Errorf("%s: %v, %v; want %v", name, d.Remote, err, c.want)
		}
	}
}

func TestWaysThatCannotBeFoundOutAreAnError(t *testing.T) {
	sshd := []string{"/usr/sbin/sshd"}
	broken := sysexec.Result{Exit: 255, Stderr: []byte("no hostkeys available -- exiting.\nmore\n")}
	for name, c := range map[string]struct {
		m    machine
		says string
	}{
		"sockets":                    {machine{socketsErr: errors.New("no netlink")}, "no netlink"},
		"processes":                  {machine{ownersErr: errors.New("no proc")}, "no proc"},
		"some processes":             {machine{denied: true}, "not every process"},
		"files of the system":        {machine{ownersErr: &network.SkippedError{Processes: 1, System: true}}, "too many to look at all"},
		"systemd":                    {machine{booted: true, streamsErr: errors.New("hung")}, "hung"},
		"configuration, no systemd":  {machine{files: sshd, sshd: broken}, "no hostkeys available -- exiting."},
		"configuration, starts":      {machine{booted: true, files: sshd, sshd: broken, known: map[string]systemd.UnitState{"ssh.service": {Enabled: true}}}, "status 255"},
		"another server starts":      {machine{booted: true, files: sshd, sshd: broken, known: map[string]systemd.UnitState{"dropbear.service": {Enabled: true}}}, "status 255"},
		"configuration that is late": {machine{files: sshd, sshdErr: context.DeadlineExceeded}, "deadline"},
		"no port in it":              {machine{files: sshd}, "status 0"},
	} {
		if _, err := c.m.manager().OpenPorts(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	off := machine{booted: true, files: sshd, sshd: broken}
	if d, err := off.manager().OpenPorts(t.Context()); err != nil || d.Remote != nil {
		t.Errorf("a server that is switched off: %v, %v", d.Remote, err)
	}
	off.ownersErr = &network.SkippedError{Processes: 300, Users: []int{1000}}
	if _, err := off.manager().OpenPorts(t.Context()); err != nil {
		t.Errorf("a user with too many files hides a server of root: %v", err)
	}
	serving := machine{
		files: sshd, sshd: broken, list: []network.Socket{listener(network.TCP, "0.0.0.0:22", 1)},
		owners: map[uint64]network.Owner{1: {PID: 10, Name: "sshd"}}, uids: map[int]int{10: 0},
	}
	if d, err := serving.manager().OpenPorts(t.Context()); err != nil || !slices.Equal(d.Remote, []firewall.Port{tcp(22)}) {
		t.Errorf("a server that listens tells its port itself: %v, %v", d.Remote, err)
	}
}

func TestListenersThatOthersReach(t *testing.T) {
	m := machine{
		list: []network.Socket{
			listener(network.TCP, "0.0.0.0:80", 1), listener(network.TCP, "127.0.0.1:5432", 2), listener(network.UDP, "0.0.0.0:40000", 3),
			listener(network.UDP, "0.0.0.0:51820", 4), listener(network.UDP, "[::]:53", 5), listener(network.TCP, "0.0.0.0:8080", 6), session("192.0.2.1:80", 1),
		},
		owners: map[uint64]network.Owner{1: {PID: 1, Name: "nginx"}, 2: {PID: 2, Name: "postgres"}, 3: {PID: 3, Name: "firefox"}, 5: {PID: 5, Name: "named"}, 6: {PID: 6, Name: "docker-proxy"}},
	}
	d, err := m.manager().OpenPorts(t.Context())
	want := []firewall.Listener{{Port: tcp(80), Process: "nginx", Connections: new(1)}, {Port: udp(51820)}, {Port: udp(53), Process: "named"}}
	if diff := cmp.Diff(want, d.Listeners); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

// What everybody can open pushes nothing out that is the system's, and that it was cut is said.
func TestACrowdOfListenersHidesNoServer(t *testing.T) {
	m := machine{owners: map[uint64]network.Owner{1: {PID: 10, Name: "dropbear"}, 2: {PID: 11, Name: "tomcat"}}, uids: map[int]int{10: 0}}
	for n := range maxSockets + 1 {
		l := listener(network.TCP, "0.0.0.0:30000", uint64(n+3))
		l.UID = 1000
		m.list = append(m.list, l, session("192.0.2.1:30000", uint64(n+3)))
	}
	late := listener(network.TCP, "0.0.0.0:8080", 2)
	late.UID = 104
	m.list = append(m.list, listener(network.TCP, "0.0.0.0:22", 1), session("192.0.2.1:22", 1), late)
	d, err := m.manager().OpenPorts(t.Context())
	if !slices.Contains(d.Remote, tcp(22)) || !d.Cut || err != nil {
		t.Errorf("%v, cut %v, %v", d.Remote, d.Cut, err)
	}
	if want := (firewall.Listener{Port: tcp(8080), Process: "tomcat", Connections: new(0)}); !cmp.Equal(d.Listeners[len(d.Listeners)-1], want) {
		t.Errorf("the last is %+v", d.Listeners[len(d.Listeners)-1])
	}
	m.list = m.list[2:]
	if d, err := m.manager().OpenPorts(t.Context()); d.Cut || err != nil {
		t.Errorf("at the bound: %v, %v", d.Cut, err)
	}
}

// An sshd that has not run since the boot answers nothing; its files tell.
func TestPortsOfAnSSHDThatHasNeverRun(t *testing.T) {
	never := sysexec.Result{Exit: 255, Stderr: []byte("Missing privilege separation directory: /run/sshd\n")}
	for name, c := range map[string]struct {
		files map[string]string
		want  []firewall.Port
	}{
		"by default":    {map[string]string{"etc/ssh/sshd_config": "#Port 99\n"}, []firewall.Port{tcp(22)}},
		"in its file":   {map[string]string{"etc/ssh/sshd_config": "Port=2222\nPort 2223\n"}, []firewall.Port{tcp(2222), tcp(2223)}},
		"in another":    {map[string]string{"etc/ssh/sshd_config": "Include /etc/ssh/sshd_config.d/*.conf\nInclude x\n", "etc/ssh/sshd_config.d/a.conf": "ListenAddress 0.0.0.0:2224\n"}, []firewall.Port{tcp(2224)}},
		"as one may":    {map[string]string{"etc/ssh/sshd_config": "Port\t2225\nPORT  \"2226\"\nPort 2227 # own\nInclude /srv/sshd.conf\nMatch User x\n", "srv/sshd.conf": "Port 2228\n"}, []firewall.Port{tcp(2225), tcp(2226), tcp(2227), tcp(2228)}},
		"without files": {nil, []firewall.Port{tcp(22)}},
	} {
		m := (&machine{files: []string{"/usr/sbin/sshd"}, sshd: never}).manager()
		m.root = testenv.Plant(t, c.files)
		if d, err := m.OpenPorts(t.Context()); err != nil || !slices.Equal(d.Remote, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, d.Remote, err, c.want)
		}
	}
}

func TestConnectionsBeyondTheBoundAreCounted(t *testing.T) {
	m := machine{}
	for n := range maxFlows + 2 {
		s := session("192.0.2.1:443", uint64(n+1))
		s.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(n >> 16), byte(n >> 8)}), uint16(n&0xff+1))
		m.list = append(m.list, s, s)
	}
	list, more, err := m.manager().flows(t.Context())
	if len(list) != maxFlows || more != 4 || err != nil {
		t.Errorf("%d flows and %d more, %v", len(list), more, err)
	}
}

// Anybody can make more connections than are taken, also to this machine itself, or have closed them.
func TestConnectionsOfAUserTakeNoPlacesOfOthers(t *testing.T) {
	m := machine{}
	add := func(s network.Socket, uid int, other string, port int) {
		s.UID, s.Remote = uid, netip.AddrPortFrom(netip.MustParseAddr(other), uint16(port))
		m.list = append(m.list, s)
	}
	inside := session("192.0.2.1:443", 1)
	inside.Internal = true
	for n := range maxFlows {
		add(session("192.0.2.1:443", 1), 1000, "203.0.113.1", n+1)
		add(session("192.0.2.1:443", 0), 0, "203.0.113.2", n+1)
		add(inside, 1000, "192.0.2.1", n+1)
	}
	add(session("192.0.2.1:22", 1), 0, "203.0.113.3", 4000)
	add(session("192.0.2.1:22", 1), 1001, "203.0.113.4", 4000)
	list, more, err := m.manager().flows(t.Context())
	if len(list) != maxFlows || more != maxFlows+2 || err != nil {
		t.Errorf("%d flows and %d more, %v", len(list), more, err)
	}
	for _, other := range []string{"203.0.113.3:4000", "203.0.113.4:4000"} {
		if !slices.ContainsFunc(list[:4], func(c conntrack.Connection) bool { return c.Remote.String() == other }) {
			t.Errorf("%s is not among the first: %v", other, list[:4])
		}
	}
}

// A user can have any number of connections to themselves, also over the addresses of this machine.
func TestConnectionsOfThisMachineToItselfAreNoUse(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 1)
	l, err := net.Listen("tcp4", "0.0.0.0:3000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dial := func(c net.Conn, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if served, err := l.Accept(); err == nil {
			t.Cleanup(func() { served.Close() })
		}
	}
	for range 3 {
		dial(net.Dial("tcp4", h.gateway()+":3000"))
		dial(net.Dial("tcp4", "127.0.0.1:3000"))
	}
	dial(h.dial(h.gateway()+":3000", waitLimit))
	var open firewall.OpenPorts
	if _, problems := (&Manager{sockets: liveSockets()}).fromSockets(t.Context(), &open); len(problems) > 0 {
		t.Fatal(problems)
	}
	want := firewall.Listener{Port: tcp(3000), Process: "firewall.test", Connections: new(1)}
	if !slices.ContainsFunc(open.Listeners, func(l firewall.Listener) bool { return cmp.Equal(l, want) }) {
		t.Errorf("listeners %+v", open.Listeners)
	}
}

// One that the system listens at is the system's, whoever listens there besides. What it has on loopback says
// nothing about who listens to others.
func TestServersArePutDownToUsers(t *testing.T) {
	of := func(uid int, s network.Socket) network.Socket {
		s.UID = uid
		return s
	}
	m := machine{list: []network.Socket{
		of(0, listener(network.TCP, "[::]:443", 1)), of(1001, listener(network.TCP, "192.0.2.1:443", 2)),
		of(1001, listener(network.TCP, "192.0.2.1:8080", 3)), of(0, listener(network.TCP, "127.0.0.1:8080", 4)),
		of(104, listener(network.UDP, "0.0.0.0:4500", 5)), of(1002, listener(network.UDP, "0.0.0.0:60001", 6)), of(1003, session("192.0.2.1:22", 7)),
	}}
	d, err := m.manager().OpenPorts(t.Context())
	want := map[firewall.Port]int{tcp(443): 0, tcp(8080): 1001, udp(4500): 0, udp(60001): 1002}
	if diff := cmp.Diff(want, d.Servers); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestPortsOfTheWaysOutAreFound(t *testing.T) {
	m := machine{out: []sessions.Tunnel{
		{Interface: "vx0", Ports: []sessions.Port{{Protocol: "udp", Number: 4789}}}, {Interface: "tun0"}, {Interface: "gre1", Ports: []sessions.Port{{Protocol: "gre"}}},
	}}
	want := []firewall.WayOut{{Port: udp(4789), Interface: "vx0"}, {Port: firewall.Port{Protocol: "gre"}, Interface: "gre1"}}
	if d, err := m.manager().OpenPorts(t.Context()); err != nil || !slices.Equal(d.WaysOut, want) {
		t.Errorf("%v, %v, want %v", d.WaysOut, err, want)
	}
}
