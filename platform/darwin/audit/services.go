// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"path"
	"slices"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/humanize"
	"sentinel/internal/reach"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/posture"
	"sentinel/platform/unix/listeners"
)

func serviceChecks() []check {
	return []check{
		{About: audit.About{
			ID: "services.exposed", Name: "Services reachable from outside", Severity: audit.Medium, Weight: 4,
			Reference:   "Lynis NETW-3012",
			Description: "Each service that others can reach can be attacked; stop those that nobody needs.",
			Formula:     "PASS when nothing but what macOS serves itself (SSH, AirDrop, AirPlay, DHCP, time, NetBIOS, IPsec) and Bonjour (UDP 5353, which programs share) listens below port 49152 on an address that is not loopback, or the Application Firewall blocks all incoming connections. WARN otherwise. Needs root to see the processes of other users.",
		}, Run: exposedServices},
		{About: audit.About{
			ID: "services.internal", Name: "Internal services not exposed", Severity: audit.High, Weight: 8,
			Reference:   "Lynis DBS-1882",
			Description: "Databases, caches and control interfaces trust whoever reaches them, or nearly.",
			Formula:     "PASS when no well-known port of a database, cache, container or model server listens on an address that is not loopback, or the Application Firewall blocks all incoming connections. FAIL otherwise. Needs root for a pass.",
		}, Run: internalServices},
	}
}

// firstClientPort is where the ports begin that macOS gives to clients and to
// services without a number of their own (net.inet.ip.portrange.first).
const firstClientPort = 49152

// reach judges what the firewalls let in; nobody knows of a tree of files.
func (m *machine) reach(ctx context.Context) reach.Judge {
	if m.Firewall == nil {
		return firewall.Facts{}.Reach()
	}
	return m.Firewall.Firewall(ctx).Reach()
}

// reachable lists the sockets that other hosts can reach, once.
func (m *machine) reachable(ctx context.Context) (listeners.Sockets, error) {
	if m.Sockets == nil {
		return listeners.Sockets{}, posture.ErrNotLive
	}
	return m.listeners.Get(func() (listeners.Sockets, error) {
		return listeners.Host{
			Source: m.Sockets, Judge: m.reach(ctx), Rules: []listeners.PortRule{internalRule},
		}.Reachable(ctx)
	})
}

// ofMacOS are the ports of services that every Mac has, with the programs of macOS that serve them: SSH,
// which has a check of its own, DHCP, time, NetBIOS, IPsec, AirPlay and the AirDrop family. launchd
// listens for those that start when somebody connects.
var ofMacOS = map[listeners.Port][]string{
	listeners.TCP(22): {"launchd", "sshd", "sshd-session", "sshd-keygen-wrapper"},
	listeners.UDP(67): {"bootpd", "configd"}, listeners.UDP(68): {"configd"}, listeners.UDP(546): {"configd"}, listeners.UDP(547): {"configd"},
	listeners.UDP(123): {"timed", "ntpd"}, listeners.UDP(137): {"launchd", "netbiosd"}, listeners.UDP(138): {"launchd", "netbiosd"},
	listeners.UDP(500): {"racoon", "nesessionmanager", "NEIKEv2Provider"}, listeners.UDP(4500): {"racoon", "nesessionmanager", "NEIKEv2Provider"},
	listeners.UDP(3722): {"identityservicesd", "rapportd", "sharingd"},
	listeners.TCP(5000): {"AirPlayXPCHelper", "ControlCenter"}, listeners.TCP(7000): {"AirPlayXPCHelper", "ControlCenter"},
}

// bonjour is the port that mDNSResponder has on every Mac, and that any program shares with it.
var bonjour = listeners.UDP(5353)

// maxLookedUp bounds how many processes lsof is asked about.
const maxLookedUp = 32

// programs are the files that processes run, as far as lsof was asked.
type programs map[int]string

// ofMacOS says whether a socket is one that every Mac has. Any user can listen at such a port, and name
// a program as one of macOS: the file that runs decides. Without root that is not seen, and nothing passes.
func (p programs) ofMacOS(ctx context.Context, m *machine, l listeners.Listener) bool {
	if l.Port() == bonjour {
		return true
	}
	names, known := ofMacOS[l.Port()]
	if !known || !m.privileged() {
		return known
	}
	file, asked := p[l.PID]
	if !asked && l.PID > 0 && len(p) < maxLookedUp && m.Runner != nil {
		files, err := lsof.Files(ctx, m.Runner, l.PID)
		if i := slices.IndexFunc(files, func(f lsof.File) bool { return f.FD == "txt" }); err == nil && i >= 0 {
			file = files[i].Name
		}
		p[l.PID] = file
	}
	return onSystemVolume(file) && slices.Contains(names, path.Base(file))
}

func exposedServices(ctx context.Context, m *machine) audit.Finding {
	sockets, err := m.reachable(ctx)
	if err != nil {
		return audit.Unread("sockets", err)
	}
	looked := programs{}
	exposed := sockets.All.Find(func(l listeners.Listener) bool {
		port := l.Local.Port()
		return port < firstClientPort && port != 0 && !looked.ofMacOS(ctx, m, l)
	})
	return exposed.Judge(func(exposed []listeners.Listener) audit.Finding {
		switch count, ports := listeners.Ports(exposed); {
		case count > 0:
			return audit.Warned(humanize.Count(count, "port", "ports")+": "+ports, "Stop each service that nobody needs, bind it to 127.0.0.1, or accept it with an exemption.").With(listeners.Evidence(exposed)...)
		case !m.privileged():
			return needsRoot("sockets of other users")
		default:
			return audit.Passed("Nothing but what every Mac has")
		}
	})
}

// internalPorts are those of services that developers run on a Mac.
var internalPorts = map[listeners.Port]string{listeners.TCP(1234): "LM Studio", listeners.TCP(7860): "Gradio", listeners.TCP(8888): "Jupyter"}

var internalRule = listeners.PortRule{
	Ports: []map[listeners.Port]string{listeners.InternalPorts, internalPorts}, One: "internal service listens", Many: "internal services listen",
	Fix: "Bind each to 127.0.0.1.",
}

func internalServices(ctx context.Context, m *machine) audit.Finding {
	sockets, err := m.reachable(ctx)
	if err != nil {
		return audit.Unread("sockets", err)
	}
	f := internalRule.Judge(sockets)
	if f.Status == audit.Pass && !m.privileged() {
		return needsRoot("sockets of other users")
	}
	return f
}
