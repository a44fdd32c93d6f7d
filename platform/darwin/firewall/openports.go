// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/sshserver"
	"sentinel/platform/darwin/lsof"
)

// firstEphemeral is where macOS begins to take the ports of clients from, unless
// the owner has changed it (net.inet.ip.portrange.first).
const firstEphemeral = 49152

// A service is a way to log in remotely.
type service struct {
	port uint16 // at which launchd listens for it; 0 where its programs listen themselves
	// programs accept its connections, by their path in macOS, as in the rules of the firewall.
	programs []string
	// front is the program that macOS itself has a rule for.
	front string
	// added means that it is no part of macOS, whose programs are let in as a kind.
	added bool
}

// services lists the ways to log in remotely: Remote Login, whose sessions have programs of their
// own since OpenSSH 9.8, Screen Sharing with Remote Management, and SSH servers that were added.
func services() []service {
	const wrapper = "/usr/libexec/sshd-keygen-wrapper"
	macOS := map[string]string{"sshd": "/usr/sbin/sshd", "sshd-session": "/usr/libexec/sshd-session", "sshd-auth": "/usr/libexec/sshd-auth"}
	login := service{port: 22, programs: []string{wrapper}, front: wrapper}
	others := service{added: true}
	for _, name := range sshserver.Names() {
		if path, own := macOS[name]; own {
			login.programs = append(login.programs, path)
		} else {
			others.programs = append(others.programs, name)
		}
	}
	return []service{login, {port: 5900, programs: []string{"screensharingd", "AppleVNCServer"}}, others}
}

// OpenPorts implements [firewall.Manager]. launchd listens for Remote Login and hands
// its connections over, so that its socket counts as much as those of the servers.
func (m *Manager) OpenPorts(ctx context.Context) (firewall.OpenPorts, error) {
	var d firewall.OpenPorts
	sockets, err := m.sockets(ctx)
	if err != nil {
		return d, fmt.Errorf("read the sockets: %w", err)
	}
	ports := listening(sockets)
	d.Servers = map[firewall.Port]int{}
	for _, s := range sockets {
		p := firewall.Port{Number: s.Local.Port(), Protocol: protocol(s)}
		switch {
		case outer(s.Local) && isListener(s):
			d.Listeners = append(d.Listeners, firewall.Listener{Port: p, Process: s.Command})
			noteServer(d.Servers, p, s)
			if serves(s) {
				d.Remote = append(d.Remote, p)
			}
		case outer(s.Remote) && isSession(s, ports):
			d.Remote = append(d.Remote, p)
		}
	}
	return d, nil
}

// noteServer notes which user listens at a port, where lsof tells it.
func noteServer(servers map[firewall.Port]int, p firewall.Port, s lsof.Socket) {
	user := s.UID
	switch {
	case s.OfSystem():
		user = 0
	case !s.OfPerson():
		return
	}
	if other, known := servers[p]; known {
		user = min(user, other)
	}
	servers[p] = user
}

// outer reports whether other hosts can reach an address.
func outer(a netip.AddrPort) bool { return a.IsValid() && !a.Addr().Unmap().IsLoopback() }

// isListener leaves out the UDP sockets of clients, which wait for an answer at
// a port of the kernel's choice.
func isListener(s lsof.Socket) bool {
	if s.Protocol == network.TCP {
		return s.State == network.Listen
	}
	return !s.Remote.IsValid() && s.Local.Port() != 0 && s.Local.Port() < firstEphemeral
}

func listening(sockets []lsof.Socket) map[uint16]bool {
	ports := map[uint16]bool{}
	for _, s := range sockets {
		if s.Protocol == network.TCP && s.State == network.Listen {
			ports[s.Local.Port()] = true
		}
	}
	return ports
}

// isSession leaves out the connections that a session has opened itself, such
// as one that forwards ports.
func isSession(s lsof.Socket, listening map[uint16]bool) bool {
	_, known := servedBy(s)
	p := s.Local.Port()
	return known && s.Protocol == network.TCP && s.State == network.Established && (listening[p] || p < firstEphemeral)
}

// serves reports whether a listener belongs to one of the services.
func serves(s lsof.Socket) bool {
	_, known := behind(s)
	return known && s.Protocol == network.TCP
}

// behind finds the service that a listener belongs to, for which launchd may listen.
func behind(s lsof.Socket) (service, bool) {
	for _, v := range services() {
		if s.Command == "launchd" && v.port == s.Local.Port() && !s.OfPerson() {
			return v, true
		}
	}
	return servedBy(s)
}

// servedBy finds the service that a process belongs to. Anybody can give a program the name of a server,
// so that those of people count for none: they would keep the firewall from being switched on, or
// have something let in. Where the user is not known the name decides, as nobody can bring that about
// for one process, and a server that does not count would be shut out.
func servedBy(s lsof.Socket) (service, bool) {
	for _, v := range services() {
		if !s.OfPerson() && slices.ContainsFunc(v.programs, func(p string) bool { return base(p) == s.Command }) {
			return v, true
		}
	}
	return service{}, false
}
