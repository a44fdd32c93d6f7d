// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/network"
)

func serviceChecks() []check {
	return []check{
		{About: audit.About{
			ID: "services.exposed", Name: "Services reachable from outside", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 2.1.22, Lynis NETW-3012",
			Description: "Each service that others can reach is a door; those nobody needs should be shut.",
			Formula:     "PASS when nothing but SSH and the clients of DHCP and time listens on an address that is not loopback. WARN otherwise. Whether the packet filter lets it in is not considered.",
		}, Run: exposedServices},
		{About: audit.About{
			ID: "services.internal", Name: "Internal services shut off", Severity: audit.High, Weight: 8,
			Reference:   "CIS 2.1, Lynis DBS-1882",
			Description: "Data bases, caches and control interfaces trust whoever reaches them, or nearly.",
			Formula:     "PASS when no well-known port of a data base, cache, cluster or container control interface listens on an address that is not loopback. FAIL otherwise.",
		}, Run: knownPorts(internalPorts, "internal service listens", "internal services listen", "Bind each to 127.0.0.1, or let the packet filter admit only who needs it")},
		{About: audit.About{
			ID: "services.cleartext", Name: "Services without encryption", Severity: audit.High, Weight: 7,
			Reference:   "CIS 2.1, Lynis INSE-8000",
			Description: "What these protocols carry, passwords included, can be read and changed on the way.",
			Formula:     "PASS when no port of telnet, rlogin, rsh, rexec, FTP, TFTP, finger, NIS or X11 listens on an address that is not loopback. FAIL otherwise.",
		}, Run: knownPorts(cleartextPorts, "service without encryption listens", "services without encryption listen", "Replace each by SSH or a protocol with TLS, and remove it")},
		{About: audit.About{
			ID: "services.snmp", Name: "SNMP community", Severity: audit.High, Weight: 4,
			Reference:   "CIS 2.1.15, Lynis SNMP-3306",
			Description: "The communities public and private are the first that everyone tries; the latter often lets them change settings.",
			Formula:     "PASS when /etc/snmp/snmpd.conf names no community public or private for others than this host. FAIL otherwise. Does not apply without that file.",
		}, Run: snmpCommunity},
	}
}

// A port is what service names call it.
type port struct {
	protocol network.Protocol
	number   uint16
}

var cleartextPorts = map[port]string{
	{network.TCP, 21}: "FTP", {network.TCP, 23}: "telnet", {network.UDP, 69}: "TFTP", {network.TCP, 79}: "finger", {network.TCP, 512}: "rexec",
	{network.TCP, 513}: "rlogin", {network.TCP, 514}: "rsh", {network.TCP, 6000}: "X11", {network.TCP, 6001}: "X11", {network.TCP, 177}: "XDMCP", {network.UDP, 177}: "XDMCP",
}

var internalPorts = map[port]string{
	{network.TCP, 2375}: "Docker without TLS", {network.TCP, 2379}: "etcd", {network.TCP, 2380}: "etcd", {network.TCP, 10250}: "kubelet", {network.TCP, 10255}: "kubelet",
	{network.TCP, 3306}: "MySQL", {network.TCP, 5432}: "PostgreSQL", {network.TCP, 1433}: "SQL Server", {network.TCP, 1521}: "Oracle", {network.TCP, 6379}: "Redis",
	{network.TCP, 11211}: "memcached", {network.UDP, 11211}: "memcached", {network.TCP, 27017}: "MongoDB", {network.TCP, 9200}: "Elasticsearch", {network.TCP, 9300}: "Elasticsearch",
	{network.TCP, 5984}: "CouchDB", {network.TCP, 9042}: "Cassandra", {network.TCP, 7000}: "Cassandra", {network.TCP, 2181}: "ZooKeeper", {network.TCP, 9092}: "Kafka",
	{network.TCP, 15672}: "RabbitMQ", {network.TCP, 4369}: "Erlang", {network.TCP, 5601}: "Kibana", {network.TCP, 8500}: "Consul", {network.TCP, 11434}: "Ollama",
	{network.TCP, 5900}: "VNC", {network.TCP, 5901}: "VNC", {network.TCP, 111}: "rpcbind", {network.UDP, 111}: "rpcbind", {network.UDP, 161}: "SNMP", {network.UDP, 623}: "IPMI",
}

// maxListeners bounds how many sockets are judged.
const maxListeners = 10_000

// A listener is a socket that others can reach.
type listener struct {
	network.Socket
	owner string // the process, or why it is not known
}

func (l listener) String() string {
	return fmt.Sprintf("%s %s: %s", l.Protocol, l.Local, l.owner)
}

// outside says whether hosts other than this one reach an address.
func outside(a netip.Addr) bool { return !a.IsLoopback() }

// reachable lists the sockets that other hosts reach, one for each port and
// owner. Ports above those of services are left out for UDP: they are of clients that wait for
// an answer.
func (m *machine) reachable(ctx context.Context) ([]listener, error) {
	return m.listeners.Get(func() ([]listener, error) { return m.readListeners(ctx) })
}

func (m *machine) readListeners(ctx context.Context) ([]listener, error) {
	if m.Sockets == nil {
		return nil, errNotLive
	}
	var list []listener
	err := m.Sockets.Sockets(ctx, func(s network.Socket) {
		waits := s.State == network.Listen && outside(s.Local.Addr()) && (s.Protocol == network.TCP || s.Local.Port() < clientPorts)
		if waits && len(list) < maxListeners {
			list = append(list, listener{Socket: s})
		}
	})
	if err != nil {
		return nil, err
	}
	return m.named(ctx, list)
}

// clientPorts is where the ports begin that Linux gives to clients
// (net.ipv4.ip_local_port_range).
const clientPorts = 32768

// named finds the owners.
func (m *machine) named(ctx context.Context, list []listener) ([]listener, error) {
	var ids []uint64
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	owners, denied, err := m.Sockets.Owners(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, l := range list {
		switch o, ok := owners[l.ID]; {
		case ok:
			list[i].owner = fmt.Sprintf("%s (process %d)", o.Name, o.PID)
		case denied:
			list[i].owner = "its process cannot be seen"
		default:
			list[i].owner = "of the kernel, or of another namespace"
		}
	}
	slices.SortFunc(list, func(a, b listener) int {
		if a.Local.Port() != b.Local.Port() {
			return int(a.Local.Port()) - int(b.Local.Port())
		}
		return strings.Compare(a.String(), b.String())
	})
	return slices.CompactFunc(list, func(a, b listener) bool { return a.String() == b.String() }), nil
}

// expected are what nearly every machine needs: clients of DHCP and of time.
var expected = []port{{network.UDP, 68}, {network.UDP, 546}, {network.UDP, 323}, {network.UDP, 123}}

func exposedServices(ctx context.Context, m *machine) audit.Finding {
	list, err := m.reachable(ctx)
	if err != nil {
		return audit.Unread("sockets", err)
	}
	var others []string
	ports := map[port]bool{}
	for _, l := range list {
		p := port{l.Protocol, l.Local.Port()}
		if slices.Contains(expected, p) || isSSH(l) {
			continue
		}
		ports[p] = true
		others = append(others, l.String())
	}
	if len(others) == 0 {
		return audit.Passed("Nothing but SSH")
	}
	return audit.Warned(audit.Count(len(ports), "port", "ports")+" beside SSH: "+first(ports),
		"Stop each service that nobody needs (sudo systemctl disable --now NAME), bind it to 127.0.0.1, or accept it with an exemption.", others...)
}

// isSSH goes by the name of the process, and by the port where that is not
// known: sshd itself, or systemd, which starts it for each connection.
func isSSH(l listener) bool {
	name, _, _ := strings.Cut(l.owner, " ")
	return l.Protocol == network.TCP && (name == "sshd" || name == "dropbear" || l.Local.Port() == 22)
}

// first names the lowest ports.
func first(ports map[port]bool) string {
	var names []string
	for p := range ports {
		names = append(names, fmt.Sprintf("%5d/%s", p.number, p.protocol))
	}
	slices.Sort(names)
	more := ""
	if len(names) > 10 {
		names, more = names[:10], " and more"
	}
	return strings.ReplaceAll(strings.Join(names, ","), " ", "") + more
}

// knownPorts is a check that none of some ports can be reached.
func knownPorts(known map[port]string, one, many, fix string) func(context.Context, *machine) audit.Finding {
	return func(ctx context.Context, m *machine) audit.Finding {
		list, err := m.reachable(ctx)
		if err != nil {
			return audit.Unread("sockets", err)
		}
		var names, evidence []string
		for _, l := range list {
			if name, ok := known[port{l.Protocol, l.Local.Port()}]; ok {
				evidence = append(evidence, l.String())
				names = append(names, name)
			}
		}
		if len(evidence) == 0 {
			return audit.Passed("None")
		}
		slices.Sort(names)
		names = slices.Compact(names)
		return audit.Failed(audit.Count(len(names), one, many)+": "+strings.Join(names, ", "), fix+".", evidence...)
	}
}
