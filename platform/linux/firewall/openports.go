// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/sessions"
	"sentinel/internal/sshserver"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/conntrack"
	linuxnetwork "sentinel/platform/linux/network"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/systemd"
	"sentinel/platform/linux/tunnels"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/sshdconf"
)

// maxSockets bounds how many sockets are looked at, of the exposed ones and of
// the established ones each.
const maxSockets = 50000

// firstUnprivileged is the first port that everybody may listen at (ip_unprivileged_port_start of
// ip(7)). Whoever opens thousands of sockets at those hides none below.
const firstUnprivileged = 1024

// sockets are what is needed of the machine to find the ways in.
type sockets struct {
	network   network.Source
	uid       func(pid int) (int, error) // real user id of a process
	lends     func(pid int) bool         // whether its program lends rights, as in [procfs.FS.Lends]
	process   func(pid int) (procfs.ProcessStat, error)
	ephemeral func() (low, high uint16) // ports that clients get by themselves
	table     func(name string, visit func(procfs.Socket)) error
	out       func(context.Context) ([]sessions.Tunnel, error)
	track     func(context.Context, []conntrack.Connection) (left int)
}

func liveSockets() sockets {
	proc := procfs.New("/")
	return sockets{network: linuxnetwork.New("/"), uid: proc.UID, lends: proc.Lends, process: proc.Process, ephemeral: ephemeral, table: proc.Sockets, out: tunnels.New("/").Out, track: conntrack.Add}
}

// OpenPorts implements [firewall.Manager]. What carries open sessions is found by
// others; these are the ports of SSH, for sessions to come. They come from four places, because
// each alone misses some: sockets that an SSH server of root listens
// on, sessions that are open (their port may be served by inetd, or the listener may have
// been changed since), the socket units of systemd, and the configuration of sshd.
func (m *Manager) OpenPorts(ctx context.Context) (firewall.OpenPorts, error) {
	var d firewall.OpenPorts
	serving, problems := m.fromSockets(ctx, &d)
	if err := ctx.Err(); err != nil {
		return d, err
	}
	addresses, err := m.units.Listening(ctx, systemd.SSHSockets)
	if err != nil {
		problems = append(problems, err)
	}
	for _, a := range addresses {
		if p, ok := exposedPort(a); ok {
			d.Remote = append(d.Remote, p)
			serving = true
		}
	}
	if d.Protocols, err = m.protocols(); err != nil {
		problems = append(problems, err)
	}
	if d.WaysOut, err = m.waysOut(ctx); err != nil {
		problems = append(problems, err)
	}
	ports, err := m.fromConfiguration(ctx)
	d.Remote = append(d.Remote, ports...)
	if err != nil && !serving && m.startsLater(ctx) {
		problems = append(problems, err)
	}
	return d, errors.Join(problems...)
}

// waysOut finds what the tunnels need by which this machine reaches others. Answers of the other end may come
// from another port than the packets went to, as those of VXLAN do (RFC 7348, section 5), and so are no replies to
// connection tracking.
func (m *Manager) waysOut(ctx context.Context) (list []firewall.WayOut, err error) {
	found, err := m.sockets.out(ctx)
	for _, t := range found {
		for _, p := range t.Ports {
			list = append(list, firewall.WayOut{Port: firewall.Port{Number: p.Number, Protocol: p.Protocol}, Interface: t.Interface})
		}
	}
	if err != nil {
		err = fmt.Errorf("find the tunnels by which this machine reaches others: %w", err)
	}
	return list, err
}

// fromSockets reads listeners and sessions. serving says that an SSH server
// listens now.
func (m *Manager) fromSockets(ctx context.Context, d *firewall.OpenPorts) (serving bool, problems []error) {
	listening, sessions, err := m.exposed(ctx, d)
	if err != nil {
		return false, []error{fmt.Errorf("read the sockets: %w", err)}
	}
	owners, denied, err := m.sockets.network.Owners(ctx, slices.Concat(listening, sessions))
	if err == nil && denied {
		err = errors.New("not every process can be looked at")
	}
	// Servers of sessions are root's, and so no user can hide one among too many files.
	if skipped, ok := errors.AsType[*network.SkippedError](err); ok && !skipped.System {
		err = nil
	}
	if err != nil {
		problems = append(problems, fmt.Errorf("find the programs behind the sockets: %w", err))
	}
	inUse := countConnections(sessions)
	for _, s := range listening {
		owner := owners[s.ID]
		p := firewall.Port{Number: s.Local.Port(), Protocol: string(s.Protocol)}
		if s.Protocol == network.TCP && m.isSSH(owner) {
			d.Remote, serving = append(d.Remote, p), true
		}
		if !m.transient(s, owner) && owner.Name != dockerProxy {
			d.Listeners = append(d.Listeners, firewall.Listener{Port: p, Process: owner.Name, Connections: inUse.at(s)})
		}
	}
	for _, s := range sessions {
		if !m.isSSH(owners[s.ID]) {
			continue
		}
		d.Remote = append(d.Remote, firewall.Port{Number: s.Local.Port(), Protocol: "tcp"})
	}
	return serving, problems
}

// portUse counts the established TCP connections with other hosts by their local port: a user can have any
// number to themselves.
type portUse map[uint16]int

func countConnections(established []network.Socket) portUse {
	use := portUse{}
	for _, s := range established {
		if !s.Internal {
			use[s.Local.Port()]++
		}
	}
	return use
}

// at returns the connections to the port of a listener; nil for UDP, which has none.
func (u portUse) at(listener network.Socket) *int {
	if listener.Protocol != network.TCP {
		return nil
	}
	return new(u[listener.Local.Port()])
}

// dockerProxy holds the ports of containers, whose packets Docker forwards
// before they could come in here.
const dockerProxy = "docker-proxy"

// exposed returns the listeners and the established TCP sockets that are not on
// loopback, and notes those that are on it alone.
func (m *Manager) exposed(ctx context.Context, d *firewall.OpenPorts) (listening, established []network.Socket, err error) {
	inside := map[firewall.Port]bool{}
	var crowd [2]int // sockets of users at ports of everybody that listen, and those that are connected
	room := func(s network.Socket, of *int) bool {
		if s.Local.Port() < firstUnprivileged || s.State == network.Listen && procfs.SystemAccount(s.UID) {
			return true
		}
		*of++
		return *of <= maxSockets
	}
	d.Servers = map[firewall.Port]int{}
	err = m.sockets.network.Sockets(ctx, func(s network.Socket) {
		noteServer(d.Servers, s)
		switch {
		case s.State == network.Listen && !s.Exposed():
			inside[firewall.Port{Number: s.Local.Port(), Protocol: string(s.Protocol)}] = true
		case s.State == network.Listen:
			if room(s, &crowd[0]) {
				listening = append(listening, s)
			}
		case s.Local.Addr().IsLoopback() || s.Remote.Addr().IsLoopback():
		case s.Protocol == network.TCP && s.State == network.Established:
			if room(s, &crowd[1]) {
				established = append(established, s)
			}
		}
	})
	for _, s := range listening {
		delete(inside, firewall.Port{Number: s.Local.Port(), Protocol: string(s.Protocol)})
	}
	d.Cut = crowd[0] > maxSockets
	d.OnlyIPv6 = onlyIPv6(listening)
	d.Inside = slices.SortedFunc(maps.Keys(inside), firewall.Port.Compare)
	return listening, m.incoming(listening, established), err
}

// onlyIPv6 returns the ports that IPv4 does not get to.
func onlyIPv6(listening []network.Socket) []firewall.Port {
	only := map[firewall.Port]bool{}
	for _, s := range listening {
		p, a := firewall.Port{Number: s.Local.Port(), Protocol: string(s.Protocol)}, s.Local.Addr().Unmap()
		others, known := only[p]
		only[p] = (others || !known) && a.Is6() && (s.OnlyIPv6 || !a.IsUnspecified())
	}
	maps.DeleteFunc(only, func(_ firewall.Port, is bool) bool { return !is })
	return slices.SortedFunc(maps.Keys(only), firewall.Port.Compare)
}

// noteServer notes which user listens at a port for other hosts. A socket is of whoever made it, also where
// a service has become another user since.
func noteServer(servers map[firewall.Port]int, s network.Socket) {
	if s.State != network.Listen || s.Local.Addr().IsLoopback() {
		return
	}
	user := s.UID
	if procfs.SystemAccount(user) {
		user = 0
	}
	p := firewall.Port{Number: s.Local.Port(), Protocol: string(s.Protocol)}
	if other, known := servers[p]; known {
		user = min(user, other)
	}
	servers[p] = user
}

// incoming leaves out connections that this host has opened itself, from a port
// of the kernel's choice: sshd does so for sessions that forward ports.
func (m *Manager) incoming(listening, established []network.Socket) []network.Socket {
	served := map[uint16]bool{}
	for _, s := range listening {
		served[s.Local.Port()] = true
	}
	low, high := m.sockets.ephemeral()
	var list []network.Socket
	for _, s := range established {
		if p := s.Local.Port(); served[p] || p < low || p > high {
			list = append(list, s)
		}
	}
	return list
}

// isSSH recognises the servers of remote sessions by name and by their user:
// any user can call a program sshd and have a port opened that way. A session
// that has become its user's is the child of one that is root's.
func (m *Manager) isSSH(o network.Owner) bool {
	if !sshserver.Is(o.Name) {
		return false
	}
	if m.isRoot(o.PID) {
		return true
	}
	p, err := m.sockets.process(o.PID)
	if err != nil {
		return false
	}
	parent, err := m.sockets.process(p.ParentPID)
	return err == nil && sshserver.Is(parent.Name) && m.isRoot(p.ParentPID)
}

// isRoot reports whether a process is root's, and not a program that anybody starts with root's rights, under
// any name.
func (m *Manager) isRoot(pid int) bool {
	uid, err := m.sockets.uid(pid)
	return err == nil && uid == 0 && !m.sockets.lends(pid)
}

// transient recognises the UDP socket of a client, which waits for an answer at
// a port of the kernel's choice; the answer will still come in. Sockets without
// a process, such as those of WireGuard, are servers.
func (m *Manager) transient(s network.Socket, o network.Owner) bool {
	low, high := m.sockets.ephemeral()
	return s.Protocol != network.TCP && o.PID != 0 && s.Local.Port() >= low && s.Local.Port() <= high
}

// fromConfiguration asks sshd for its effective configuration. No sshd has
// none.
func (m *Manager) fromConfiguration(ctx context.Context) ([]firewall.Port, error) {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"} {
		if !m.installed(path) {
			continue
		}
		r, err := m.runner.Run(ctx, sysexec.Command{Path: path, Args: []string{"-T"}, Timeout: askLimit, MaxOutput: maxPrinted})
		if err != nil {
			return nil, err
		}
		ports := parseSSHD(r.Stdout)
		if r.Exit != 0 && bytes.Contains(r.Stderr, []byte("privilege separation directory")) {
			return m.portsOfFiles()
		}
		if r.Exit != 0 || ports == nil {
			return ports, fmt.Errorf("%s -T ended with status %d: %s", path, r.Exit, firstLine(r.Stderr))
		}
		return ports, nil
	}
	return nil, nil
}

// portsOfFiles reads the ports from the files of an sshd that has not run since the boot: it lacks the
// directory that its unit makes, and without it answers nothing. A port of a block or of another file
// is one more to let in.
func (m *Manager) portsOfFiles() ([]firewall.Port, error) {
	c, err := sshdconf.Read(hostfile.Tree{Path: func(name string) string { return filepath.Join(m.root, name) }, MaxFile: maxPrinted, MaxNames: maxIncluded}, sshdConfig)
	if err == nil {
		err = c.Hole
	}
	if err != nil && !hostfile.Missing(err) {
		return nil, fmt.Errorf("%s: %w", sshdConfig, hostfile.Reason(err))
	}
	var ports []firewall.Port
	for _, set := range c.Outside {
		ports = append(ports, parseSSHD([]byte(set.Keyword+" "+set.Value))...)
	}
	if len(ports) == 0 {
		ports = []firewall.Port{{Number: 22, Protocol: "tcp"}}
	}
	slices.SortFunc(ports, firewall.Port.Compare)
	return slices.Compact(ports), nil
}

const sshdConfig = "/etc/ssh/sshd_config"

// maxIncluded caps how many files of sshd are read.
const maxIncluded = 256

// startsLater says whether an SSH server that does not run now may do so
// later, at a port that is not known.
func (m *Manager) startsLater(ctx context.Context) bool {
	if !m.units.Running() {
		return true
	}
	for _, name := range slices.Concat(systemd.SSHServices, systemd.SSHSockets) {
		if u := m.units.State(ctx, name); u.Enabled || u.Active {
			return true
		}
	}
	return false
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(line[:min(len(line), 200)])
}

// ephemeral reads the range that the kernel takes ports of clients from
// (ip(7), ip_local_port_range).
func ephemeral() (low, high uint16) {
	raw, err := hostfile.Text("/proc/sys/net/ipv4/ip_local_port_range")
	fields := strings.Fields(raw)
	if err != nil || len(fields) != 2 {
		return 32768, 60999
	}
	from, err := strconv.ParseUint(fields[0], 10, 16)
	to, err2 := strconv.ParseUint(fields[1], 10, 16)
	if err != nil || err2 != nil {
		return 32768, 60999
	}
	return uint16(from), uint16(to)
}
