// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
	"sentinel/internal/sshserver"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/listeners"
)

func serviceChecks() []check {
	return []check{
		{About: audit.About{
			ID: "services.exposed", Name: "Services reachable from outside", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 2.1.22, Lynis NETW-3012",
			Description: "Each service that others can reach can be attacked; stop those that nobody needs.",
			Formula:     "PASS when nothing but SSH, whose settings the ssh checks judge, and clients listens on an address that is not loopback, or the packet filter lets no other hosts in, or only chosen ones. WARN otherwise, and when its rules do not say or cannot be read. Clients are programs of the system for DHCP, time, names and logs, run by root or an account of the system, at their UDP ports (68, 123, 323, 546) and at those of net.ipv4.ip_local_port_range, where they wait for an answer; the value says how many are left out. Where the process is not known, as without root, only the former count. Sockets of SCTP and DCCP are not looked at. Skipped where nothing is found and rules of the packet filter send packets on to other hosts or containers.",
		}, Run: exposedServices},
		{About: audit.About{
			ID: "services.internal", Name: "Internal services not exposed", Severity: audit.High, Weight: 8,
			Reference:   "CIS 2.1, Lynis DBS-1882",
			Description: "Databases, caches and control interfaces trust whoever reaches them, or nearly.",
			Formula:     "PASS when no well-known port of a database, cache, cluster or container control interface listens on an address that is not loopback, or the packet filter lets no other hosts in, or only chosen ones. FAIL otherwise. Skipped where nothing is found and rules of the packet filter send packets on to other hosts or containers.",
		}, Run: noneOf(internalRule)},
		{About: audit.About{
			ID: "services.cleartext", Name: "Services without encryption", Severity: audit.High, Weight: 7,
			Reference:   "CIS 2.1, Lynis INSE-8000",
			Description: "What these protocols carry, passwords included, can be read and changed on the way.",
			Formula:     "PASS when no port of telnet, rlogin, rsh, rexec, FTP, TFTP, finger, NIS or X11 listens on an address that is not loopback, or the packet filter lets no other hosts in, or only chosen ones. FAIL otherwise. Skipped where nothing is found and rules of the packet filter send packets on to other hosts or containers.",
		}, Run: noneOf(cleartextRule)},
		{About: audit.About{
			ID: "services.snmp", Name: "SNMP community", Severity: audit.High, Weight: 4,
			Reference:   "CIS 2.1.15, Lynis SNMP-3306",
			Description: "The communities public and private are the first that everyone tries; the latter often lets them change settings.",
			Formula:     "PASS when snmpd.conf and snmpd.local.conf in the folders of snmpd, such as /etc/snmp, what is for snmpd in snmp.conf there, snmpd.conf.d and what they include name no community public or private that other hosts can use. FAIL otherwise. Does not apply without such a file.",
		}, Run: snmpCommunity},
	}
}

// portRules are the rules about ports.
func portRules() []listeners.PortRule { return []listeners.PortRule{internalRule, cleartextRule} }

var (
	internalRule = listeners.PortRule{
		Ports: []map[listeners.Port]string{listeners.InternalPorts, internalPorts}, One: "internal service listens", Many: "internal services listen",
		Fix: "Bind each to 127.0.0.1, or let the packet filter admit only who needs it.",
	}
	cleartextRule = listeners.PortRule{
		Ports: []map[listeners.Port]string{cleartextPorts}, One: "service without encryption listens", Many: "services without encryption listen",
		Fix: "Replace each by SSH or a protocol with TLS, and remove it.",
	}
)

var cleartextPorts = map[listeners.Port]string{
	listeners.TCP(21): "FTP", listeners.TCP(23): "telnet", listeners.UDP(69): "TFTP", listeners.TCP(79): "finger", listeners.TCP(512): "rexec",
	listeners.TCP(513): "rlogin", listeners.TCP(514): "rsh", listeners.TCP(6000): "X11", listeners.TCP(6001): "X11", listeners.TCP(177): "XDMCP", listeners.UDP(177): "XDMCP",
}

// internalPorts are those of services that macOS does not have, or uses
// otherwise.
var internalPorts = map[listeners.Port]string{
	listeners.TCP(2380): "etcd", listeners.TCP(10255): "kubelet", listeners.TCP(1521): "Oracle", listeners.UDP(11211): "memcached", listeners.TCP(9300): "Elasticsearch",
	listeners.TCP(7000): "Cassandra", listeners.TCP(2181): "ZooKeeper", listeners.TCP(9092): "Kafka", listeners.TCP(15672): "RabbitMQ", listeners.TCP(4369): "Erlang",
	listeners.TCP(5601): "Kibana", listeners.TCP(5900): "VNC", listeners.TCP(5901): "VNC", listeners.TCP(111): "rpcbind", listeners.UDP(111): "rpcbind", listeners.UDP(161): "SNMP",
	listeners.UDP(623): "IPMI",
}

// reachable lists the sockets that other hosts can reach, once.
func (m *machine) reachable(ctx context.Context) (listeners.Sockets, error) {
	if m.Sockets == nil {
		return listeners.Sockets{}, errNotLive
	}
	return m.listeners.Get(func() (listeners.Sockets, error) {
		facts := m.Firewall.Firewall(ctx)
		return listeners.Host{
			Source: m.Sockets, Judge: facts.Reach(), Rules: portRules(), Unowned: m.unowned, Beyond: sentOn(facts.SentOn()),
		}.Reachable(ctx)
	})
}

// maxSentOn is how many rules are named.
const maxSentOn = 3

// sentOn says what is reached without a socket: what containers publish, for one.
func sentOn(rules []firewall.SentOn) string {
	if len(rules) == 0 {
		return ""
	}
	var places []string
	for _, r := range rules[:min(len(rules), maxSentOn)] {
		places = append(places, r.String())
	}
	text := "the packet filter sends packets on to other hosts or containers, whose services are not looked at: " + strings.Join(places, ", ")
	if more := len(rules) - len(places); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// unowned says of a socket that no process was found to have whose it is. One of a user's may be on its way from one
// process to another (unix(7), SCM_RIGHTS), or held by what the kernel keeps for that user.
func (m *machine) unowned(uid int) string {
	if uid == 0 {
		return "of the kernel, or of another namespace"
	}
	return "of user " + m.userNamed(uid) + ", whose process was not found"
}

// clientPorts are where nearly every machine has clients of DHCP and of time, which only root opens.
var clientPorts = []listeners.Port{listeners.UDP(68), listeners.UDP(546), listeners.UDP(323), listeners.UDP(123)}

// udpClients are programs of a system that wait at UDP ports for answers.
var udpClients = []string{
	"dhclient", "dhcpcd", "udhcpc", "NetworkManager", "systemd-networkd", "wicked", "connmand", // of DHCP
	"chronyd", "ntpd", "ntpsec", "systemd-timesyncd", "timesyncd", "openntpd", // of time
	"systemd-resolved", "avahi-daemon", "unbound", "named", "dnsmasq", "pdns_recursor", "kresd", "nscd", "sssd_be", // of names
	"rsyslogd", "syslog-ng", "cups-browsed",
}

func exposedServices(ctx context.Context, m *machine) audit.Finding {
	sockets, err := m.reachable(ctx)
	if err != nil {
		return audit.Unread("sockets", err)
	}
	first, last := m.localPorts()
	servers := m.sshServers(ctx)
	leftOut := 0
	exposed := sockets.All.Find(func(l listeners.Listener) bool {
		client := m.isClient(l, first, last)
		if client {
			leftOut++
		}
		return !client && !m.isSSH(l, servers)
	})
	return exposed.Judge(func(exposed []listeners.Listener) audit.Finding {
		without := ""
		if leftOut > 0 {
			without = "; " + humanize.Count(leftOut, "socket", "sockets") + " of clients of the system left out"
		}
		if len(exposed) == 0 {
			return audit.Passed("Nothing but SSH" + without)
		}
		count, ports := listeners.Ports(exposed)
		return audit.Warned(humanize.Count(count, "port", "ports")+" beside SSH: "+ports+without,
			"Stop each service that nobody needs (sudo systemctl disable --now NAME), bind it to 127.0.0.1, or accept it with an exemption.").With(listeners.Evidence(exposed)...)
	})
}

// localPorts are those that the kernel gives to whoever asks for none (ip(7), ip_local_port_range).
func (m *machine) localPorts() (first, last uint16) {
	text, err := m.optionalText("/proc/sys/net/ipv4/ip_local_port_range")
	var low, high uint16
	if n, bad := fmt.Sscan(text, &low, &high); err != nil || bad != nil || n != 2 {
		return 32768, 60999
	}
	return low, high
}

// isClient reports a socket of UDP where a program of the system waits for answers. Anybody can serve at the
// ports that the kernel gives away, and whoever is root at the others.
func (m *machine) isClient(l listeners.Listener, first, last uint16) bool {
	port := l.Port()
	known := slices.Contains(clientPorts, port)
	if l.PID == 0 || !known && (port.Protocol != network.UDP || port.Number < first || port.Number > last) {
		return known && l.PID == 0
	}
	p, owner, ok := m.programOf(l)
	if !ok || !p.System {
		return false
	}
	named := slices.Contains(udpClients, p.Name())
	return named && (owner == m.Owner || procfs.SystemAccount(owner)) || known && owner == m.Owner && p.Name() == "busybox" // udhcpc, ntpd
}

// programOf is what a listener runs, and whose process it is.
func (m *machine) programOf(l listeners.Listener) (p procfs.Program, owner int, ok bool) {
	p, err := m.proc().Program(l.PID, m.Owner)
	process, ownerErr := m.stat("/proc/" + strconv.Itoa(l.PID))
	return p, process.UID, errors.Join(err, ownerErr) == nil
}

// isSSH goes by the program that listens, since a process is called what its owner likes, and by
// the port where the program is not known. At port 22 it may be systemd, or a proxy, of root. An sshd counts whose
// settings the ssh checks judge.
func (m *machine) isSSH(l listeners.Listener, servers sshServers) bool {
	if l.Protocol != network.TCP || l.PID == 0 {
		return l.Port() == listeners.TCP(22)
	}
	p, owner, ok := m.programOf(l)
	switch {
	case !ok || owner != m.Owner || !p.System:
		return false
	case p.Name() == sshdName:
		return servers.judged[l.PID]
	default:
		return l.Local.Port() == 22 || sshserver.Listens(p.Name())
	}
}

// noneOf is a check that none of some ports can be reached.
func noneOf(rule listeners.PortRule) func(context.Context, *machine) audit.Finding {
	return func(ctx context.Context, m *machine) audit.Finding {
		sockets, err := m.reachable(ctx)
		if err != nil {
			return audit.Unread("sockets", err)
		}
		return rule.Judge(sockets)
	}
}
