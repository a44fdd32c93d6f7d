// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/network"
	"sentinel/platform/darwin/posture"
)

func serviceChecks() []check {
	return []check{
		{About: audit.About{
			ID: "services.exposed", Name: "Services reachable from outside", Severity: audit.Medium, Weight: 4,
			Reference:   "Lynis NETW-3012",
			Description: "Each service that others can reach is a door; those nobody needs should be shut.",
			Formula:     "PASS when nothing but SSH, AirDrop, AirPlay, Bonjour and DHCP listens below port 49152 on an address that is not loopback. WARN otherwise. Whether a firewall lets it in is not considered. Needs root, without which only own processes are seen.",
		}, Run: exposedServices},
		{About: audit.About{
			ID: "services.internal", Name: "Internal services shut off", Severity: audit.High, Weight: 8,
			Reference:   "Lynis DBS-1882",
			Description: "Data bases, caches and control interfaces trust whoever reaches them, or nearly.",
			Formula:     "PASS when no well-known port of a data base, cache, container or model server listens on an address that is not loopback. FAIL otherwise. Needs root for a pass.",
		}, Run: internalServices},
	}
}

// firstClientPort is where the ports begin that macOS gives to clients and to
// services without a number of their own (net.inet.ip.portrange.first).
const firstClientPort = 49152

// maxListeners bounds how many sockets are judged.
const maxListeners = 10_000

// A listener is a socket that others can reach.
type listener struct {
	protocol network.Protocol
	port     uint16
	text     string
	owner    string // "" when it is not known
}

// reachable lists the sockets that other hosts reach, once.
func (m *machine) reachable(ctx context.Context) ([]listener, error) {
	return m.listeners.Get(func() ([]listener, error) {
		if m.Sockets == nil {
			return nil, posture.ErrNotLive
		}
		var found []network.Socket
		err := m.Sockets.Sockets(ctx, func(s network.Socket) {
			if s.State == network.Listen && !s.Local.Addr().IsLoopback() && len(found) < maxListeners {
				found = append(found, s)
			}
		})
		if err != nil {
			return nil, err
		}
		return m.named(ctx, found)
	})
}

func (m *machine) named(ctx context.Context, found []network.Socket) ([]listener, error) {
	var ids []uint64
	for _, s := range found {
		ids = append(ids, s.ID)
	}
	owners, _, err := m.Sockets.Owners(ctx, ids)
	if err != nil {
		return nil, err
	}
	var list []listener
	for _, s := range found {
		l := listener{protocol: s.Protocol, port: s.Local.Port(), text: fmt.Sprintf("%s %s: its process cannot be seen", s.Protocol, s.Local)}
		if o, ok := owners[s.ID]; ok {
			l.owner, l.text = o.Name, fmt.Sprintf("%s %s: %s (process %d)", s.Protocol, s.Local, o.Name, o.PID)
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b listener) int {
		if a.port != b.port {
			return int(a.port) - int(b.port)
		}
		return strings.Compare(a.text, b.text)
	})
	return slices.Compact(list), nil
}

// ofApple are the ports of services that every Mac has: SSH, which a check of
// its own looks at, DHCP, Bonjour and time, AirPlay and the AirDrop family.
var ofApple = map[uint16]bool{22: true, 67: true, 68: true, 123: true, 137: true, 138: true, 500: true, 546: true, 547: true, 3722: true, 4500: true, 5000: true, 5353: true, 7000: true}

func exposedServices(ctx context.Context, m *machine) audit.Finding {
	list, err := m.reachable(ctx)
	if err != nil {
		return audit.Unread("sockets", err)
	}
	var others, ports []string
	for _, l := range list {
		if ofApple[l.port] || l.port >= firstClientPort || l.port == 0 {
			continue
		}
		others = append(others, l.text)
		ports = append(ports, fmt.Sprintf("%d/%s", l.port, l.protocol))
	}
	ports = slices.Compact(ports)
	switch {
	case len(others) > 0:
		return audit.Warned(audit.Count(len(ports), "port", "ports")+": "+strings.Join(ports[:min(len(ports), 10)], ", "), "Stop each service that nobody needs, bind it to 127.0.0.1, or accept it with an exemption.", others...)
	case !m.privileged():
		return needsRoot("sockets of other users")
	default:
		return audit.Passed("Nothing but what every Mac has")
	}
}

// internalPorts are those of services that are not meant for the network.
var internalPorts = map[uint16]string{
	1433: "SQL Server", 2375: "Docker without TLS", 2379: "etcd", 3306: "MySQL", 5432: "PostgreSQL", 5984: "CouchDB", 6379: "Redis", 7860: "Gradio", 8500: "Consul",
	8888: "Jupyter", 9042: "Cassandra", 9200: "Elasticsearch", 10250: "kubelet", 11211: "memcached", 11434: "Ollama", 1234: "LM Studio", 27017: "MongoDB",
}

func internalServices(ctx context.Context, m *machine) audit.Finding {
	list, err := m.reachable(ctx)
	if err != nil {
		return audit.Unread("sockets", err)
	}
	var names, evidence []string
	for _, l := range list {
		if name, known := internalPorts[l.port]; known && l.protocol == network.TCP {
			names, evidence = append(names, name), append(evidence, l.text)
		}
	}
	switch {
	case len(names) > 0:
		names = distinct(names)
		return audit.Failed(audit.Count(len(names), "internal service listens", "internal services listen")+": "+strings.Join(names, ", "), "Bind each to 127.0.0.1.", evidence...)
	case !m.privileged():
		return needsRoot("sockets of other users")
	default:
		return audit.Passed("None")
	}
}
