// SPDX-License-Identifier: Apache-2.0

// Package listeners finds and judges the sockets on which a host can be reached
// from other hosts.
package listeners

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
	"sentinel/internal/reach"
)

// maxListeners bounds how many sockets are judged.
const maxListeners = 10_000

// A Port is a port number of a protocol.
type Port struct {
	Protocol network.Protocol
	Number   uint16
}

// TCP is a port of TCP.
func TCP(number uint16) Port { return Port{network.TCP, number} }

// UDP is a port of UDP.
func UDP(number uint16) Port { return Port{network.UDP, number} }

// String is such as "22/tcp".
func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

// A Listener is a socket that other hosts can reach.
type Listener struct {
	network.Socket
	Process string // name of the process; "" when it is not known
	owner   string // the process with its PID, or why it is not known
	doubt   string // why it is not known whether the packet filter lets others in; "" when it is
}

// Port is the local port of the socket.
func (l Listener) Port() Port { return Port{l.Protocol, l.Local.Port()} }

// String names the socket and its process.
func (l Listener) String() string {
	if l.doubt != "" {
		return fmt.Sprintf("%s %s: %s; %s", l.Protocol, l.Local, l.owner, l.doubt)
	}
	return fmt.Sprintf("%s %s: %s", l.Protocol, l.Local, l.owner)
}

// notSeen is said of a socket whose owner may not be looked up.
const notSeen = "its process cannot be seen"

// Reachable lists the listening sockets of source that are not on loopback and
// that keep accepts, sorted by port, one for each port and process. Those that the packet filter
// keeps from others, or opens to chosen hosts alone, are left out; of which that is not known stay.
// unowned is said of a socket without an owner although all owners could be looked up; ""
// when that cannot be told.
func Reachable(ctx context.Context, source network.Source, judge reach.Judge, keep func(network.Socket) bool, unowned string) ([]Listener, error) {
	var list []Listener
	err := source.Sockets(ctx, func(s network.Socket) {
		if s.State == network.Listen && !s.Local.Addr().IsLoopback() && keep(s) && len(list) < maxListeners {
			list = append(list, Listener{Socket: s})
		}
	})
	if err != nil {
		return nil, err
	}
	if err := addOwners(ctx, source, list, unowned); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(l Listener) bool { return !judge(string(l.Protocol), l.Local, l.Process).Open() })
	for i, l := range list {
		if v := judge(string(l.Protocol), l.Local, l.Process); v.Answer == reach.Unknown {
			list[i].doubt = v.Why
		}
	}
	slices.SortFunc(list, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Local.Port(), b.Local.Port()), strings.Compare(a.String(), b.String()))
	})
	return slices.CompactFunc(list, func(a, b Listener) bool { return a.String() == b.String() }), nil
}

func addOwners(ctx context.Context, source network.Source, list []Listener, unowned string) error {
	ids := make([]uint64, 0, len(list))
	for _, l := range list {
		ids = append(ids, l.ID)
	}
	owners, denied, err := source.Owners(ctx, ids)
	if err != nil {
		return err
	}
	if denied || unowned == "" {
		unowned = notSeen
	}
	for i, l := range list {
		list[i].owner = unowned
		if o, ok := owners[l.ID]; ok {
			list[i].Process, list[i].owner = o.Name, fmt.Sprintf("%s (process %d)", o.Name, o.PID)
		}
	}
	return nil
}

// maxShown is how many ports a finding names.
const maxShown = 10

// Ports counts the ports of a sorted list and names the lowest ones.
func Ports(list []Listener) (count int, text string) {
	ports := make([]Port, 0, len(list))
	for _, l := range list {
		ports = append(ports, l.Port())
	}
	slices.SortFunc(ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.String(), b.String()))
	})
	ports = slices.Compact(ports)
	var names []string
	for _, p := range ports[:min(len(ports), maxShown)] {
		names = append(names, p.String())
	}
	text = strings.Join(names, ", ")
	if len(ports) > maxShown {
		text += " and more"
	}
	return len(ports), text
}

// Evidence describes each listener.
func Evidence(list []Listener) []string {
	var lines []string
	for _, l := range list {
		lines = append(lines, l.String())
	}
	return lines
}

// A PortRule forbids services by their well-known ports.
type PortRule struct {
	Ports     []map[Port]string // what the services are called
	One, Many string            // "service listens", "services listen"
	Fix       string
}

// Judge fails when one of the listeners is on a forbidden port.
func (r PortRule) Judge(list []Listener) audit.Finding {
	var names, evidence []string
	for _, l := range list {
		if name := r.service(l.Port()); name != "" {
			names, evidence = append(names, name), append(evidence, l.String())
		}
	}
	if len(names) == 0 {
		return audit.Passed("None")
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return audit.Failed(humanize.Count(len(names), r.One, r.Many)+": "+strings.Join(names, ", "), r.Fix, evidence...)
}

func (r PortRule) service(p Port) string {
	for _, ports := range r.Ports {
		if name := ports[p]; name != "" {
			return name
		}
	}
	return ""
}

// InternalPorts are those of services that are not meant for a network, on
// every system.
var InternalPorts = map[Port]string{
	TCP(1433): "SQL Server", TCP(2375): "Docker without TLS", TCP(2379): "etcd", TCP(3306): "MySQL", TCP(5432): "PostgreSQL",
	TCP(5984): "CouchDB", TCP(6379): "Redis", TCP(8500): "Consul", TCP(9042): "Cassandra", TCP(9200): "Elasticsearch",
	TCP(10250): "kubelet", TCP(11211): "memcached", TCP(11434): "Ollama", TCP(27017): "MongoDB",
}
