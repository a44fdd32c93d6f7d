// SPDX-License-Identifier: Apache-2.0

// Package listeners finds and judges the sockets on which a host can be reached
// from other hosts.
package listeners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
	"sentinel/internal/reach"
)

// A kind of sockets has a bound of its own. Each user can open any number at ports from 1024 on;
// they must not take the room of those that a check looks for.
type kind int

const (
	privileged kind = iota // at ports that only root opens
	named                  // at other ports of well-known services
	others
)

// bounds are how many sockets of a kind are judged of the system, and as many of all users together.
var bounds = [...]int{privileged: 10_000, named: 2_000, others: 5_000}

// firstUnprivileged is the first port that needs no right (net.ipv4.ip_unprivileged_port_start).
const firstUnprivileged = 1024

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
	PID     int    // of the process; 0 when it is not known
	Process string // its name, which it may have chosen; "" when it is not known
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

// Sockets are those that other hosts can reach, sorted by port, one for each port and process.
type Sockets struct {
	Named audit.List[Listener] // those below port 1024 or at a port of one of the rules
	All   audit.List[Listener]
}

// A Host is whose sockets are looked at.
type Host struct {
	Source network.Source
	Judge  reach.Judge
	Rules  []PortRule // the rules that will judge
	// Unowned is what is said of a socket of a user, by ID, without an owner although all owners could be looked
	// up; nil when that cannot be told.
	Unowned func(uid int) string
	// Beyond says what others can reach by this host without a socket of it; "" for nothing.
	Beyond string
}

// Reachable lists the listening sockets that are not on loopback. Those that the packet filter
// keeps from others, or opens to chosen hosts alone, are left out; of which that is not known stay.
func (h Host) Reachable(ctx context.Context) (Sockets, error) {
	var lists [len(bounds)][]Listener
	var rest [len(bounds)]string
	var rooms [len(bounds)]room
	err := h.Source.Sockets(ctx, func(s network.Socket) {
		if s.State != network.Listen || !s.Exposed() {
			return
		}
		l := Listener{Socket: s}
		k := h.kind(l.Port())
		if !rooms[k].take(s.UID, bounds[k]) {
			rest[k] = fmt.Sprintf("more than %d sockets listen", len(lists[k]))
			return
		}
		lists[k] = append(lists[k], l)
	})
	if err != nil {
		return Sockets{}, err
	}
	all := slices.Concat(lists[:]...)
	if err := addOwners(ctx, h.Source, all, h.Unowned); err != nil {
		return Sockets{}, err
	}
	whole := audit.ListOf(h.open(all), cmp.Or(append(rest[:], h.Beyond)...))
	ofServices := audit.ListOf(h.open(all[:len(all)-len(lists[others])]), cmp.Or(rest[privileged], rest[named], h.Beyond))
	return Sockets{ofServices, whole}, nil
}

// A room counts the sockets that are kept of a kind. Users take nothing from the system's, and one of them
// a quarter of theirs at most.
type room struct {
	of    map[int]int // by user
	users int
}

func (r *room) take(uid, bound int) bool {
	if r.of == nil {
		r.of = map[int]int{}
	}
	most := bound
	if uid != 0 {
		most = bound / 4
	}
	if r.of[uid] == most || uid != 0 && r.users == bound {
		return false
	}
	if r.of[uid]++; uid != 0 {
		r.users++
	}
	return true
}

func (h Host) kind(p Port) kind {
	switch {
	case p.Number < firstUnprivileged:
		return privileged
	case slices.ContainsFunc(h.Rules, func(r PortRule) bool { return r.service(p) != "" }):
		return named
	default:
		return others
	}
}

// open leaves out what the packet filter keeps from others, sorts, and drops what would be said twice.
func (h Host) open(list []Listener) []Listener {
	var open []Listener
	for _, l := range list {
		v := h.Judge(string(l.Protocol), l.Local, l.Process)
		if v.Answer == reach.Unknown {
			l.doubt = v.Why
		}
		if v.Open() {
			open = append(open, l)
		}
	}
	slices.SortFunc(open, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Local.Port(), b.Local.Port()), strings.Compare(a.String(), b.String()))
	})
	return slices.CompactFunc(open, func(a, b Listener) bool { return a.String() == b.String() })
}

func addOwners(ctx context.Context, source network.Source, list []Listener, unowned func(uid int) string) error {
	sockets := make([]network.Socket, 0, len(list))
	for _, l := range list {
		sockets = append(sockets, l.Socket)
	}
	owners, denied, err := source.Owners(ctx, sockets)
	_, skipped := errors.AsType[*network.SkippedError](err)
	if err != nil && !skipped {
		return err
	}
	if denied || skipped || unowned == nil {
		unowned = func(int) string { return notSeen }
	}
	for i, l := range list {
		list[i].owner = unowned(l.UID)
		if o, ok := owners[l.ID]; ok {
			list[i].PID, list[i].Process, list[i].owner = o.PID, o.Name, fmt.Sprintf("%s (process %d)", o.Name, o.PID)
		}
	}
	return nil
}

// maxPorts is how many ports a finding names. A user with any number of them takes the places of nobody else's.
const maxPorts = 10

// Ports counts the ports of a list and names the lowest ones.
func Ports(list []Listener) (count int, text string) {
	list = slices.SortedFunc(slices.Values(list), func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Port().Number, b.Port().Number), strings.Compare(a.Port().String(), b.Port().String()), cmp.Compare(a.UID, b.UID))
	})
	list = slices.CompactFunc(list, func(a, b Listener) bool { return a.Port() == b.Port() })
	shown, rest := answer.Share(list, maxPorts, Listener.User)
	var names []string
	for _, l := range shown {
		names = append(names, l.Port().String())
	}
	text = strings.Join(names, ", ")
	if len(rest) > 0 {
		text += fmt.Sprintf(" and %d more", len(rest))
	}
	return len(list), text
}

// Evidence describes each listener, and says whose it is.
func Evidence(list []Listener) []audit.Line {
	lines := make([]audit.Line, len(list))
	for i, l := range list {
		lines[i] = audit.Line{Text: l.String(), Owner: l.User()}
	}
	return lines
}

// A PortRule forbids services by their well-known ports.
type PortRule struct {
	Ports     []map[Port]string // what the services are called
	One, Many string            // "service listens", "services listen"
	Fix       string
}

// Judge fails when one of the sockets is on a forbidden port.
func (r PortRule) Judge(s Sockets) audit.Finding { return s.Named.Judge(r.judge) }

func (r PortRule) judge(list []Listener) audit.Finding {
	var names []string
	var wrong []Listener
	for _, l := range list {
		if name := r.service(l.Port()); name != "" {
			names, wrong = append(names, name), append(wrong, l)
		}
	}
	if len(names) == 0 {
		return audit.Passed("None")
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return audit.Failed(humanize.Count(len(names), r.One, r.Many)+": "+strings.Join(names, ", "), r.Fix).With(Evidence(wrong)...)
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
