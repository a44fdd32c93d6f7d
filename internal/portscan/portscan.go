// SPDX-License-Identifier: Apache-2.0

// Package portscan finds out which TCP ports of a host can be reached from this
// machine, and refuses to scan hosts that the policy does not allow.
package portscan

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/reach"
)

// TimeLimit is how long a scan goes on before it answers with what it has.
const TimeLimit = 40 * time.Second

// DefaultRows is how many open ports are shown one by one, as far as maxRowBytes
// of JSON hold them; the others follow as ranges, at most maxRanges of them. A brief report has 8 KB.
const (
	DefaultRows = 200
	maxRowBytes = 15 << 10
	maxRanges   = 200

	briefRowBytes = 5_000
	briefRanges   = 90
)

// A Port is an open port of one address.
type Port struct {
	Port     int    `json:"port"`              // 1 to 65535
	State    string `json:"state" enum:"open"` // open ports alone are listed
	Service  string `json:"service"`           // usually found at this port, not what answered; "unknown" where nothing is usual
	Protocol string `json:"protocol"`          // "tcp"
	Address  string `json:"address"`           // of the target, at which it is open
	// PID and ProcessName tell who listens; for ports of this machine alone.
	PID         int    `json:"pid,omitempty"`
	ProcessName string `json:"process_name,omitempty"` // who listens; for ports of this machine alone
	// Bind is the address that the process listens at; for ports of this
	// machine alone.
	Bind string `json:"bind,omitempty"`
	// Exposed says that the address is not loopback, so that other hosts can
	// reach it unless a firewall stands before it; for ports of this machine alone.
	Exposed *bool `json:"exposed,omitempty"`
	// Reach says whether the packet filter of this machine lets new connections of other hosts in:
	// unknown where its rules cannot be read or do not decide it. For exposed ports of this machine
	// alone.
	Reach reach.Answer `json:"reach,omitempty" enum:"reachable,filtered,unknown"`
	// ReachLimited says that it lets in only some hosts or networks; absent unless it does.
	ReachLimited bool `json:"reach_limited,omitempty"`
}

// What a host does when it is scanned.
const (
	HostUp       = "up"
	HostNoAnswer = "no answer"
)

// An Address is one that was scanned.
type Address struct {
	Address string `json:"address"` // that was scanned
	// Host is "no answer" when nothing answered at any port: the host is down, or a firewall drops
	// everything. Nothing is counted then. Absent when nothing is known of any port.
	Host          string `json:"host,omitempty" enum:"up,no answer"`
	OpenCount     int    `json:"open_count"`     // ports that took a connection
	ClosedCount   int    `json:"closed_count"`   // ports that answered that nobody listens
	FilteredCount int    `json:"filtered_count"` // ports that did not answer, or for which a firewall or router did
}

// A Report answers scan_ports.
type Report struct {
	Target  string `json:"target"`  // as it was asked for
	Address string `json:"address"` // that was scanned first
	// Host is "no answer" when nothing answered at any port of any address: the host is down, or a
	// firewall drops everything. Absent when nothing is known of any port.
	Host string `json:"host,omitempty" enum:"up,no answer"`
	// Addresses are all that were scanned: of a name with addresses of both families, one of each.
	// The counts of this report are those of all of them together.
	Addresses      []Address `json:"addresses"`
	OtherAddresses []string  `json:"other_addresses,omitempty"` // of the name; not scanned
	Local          bool      `json:"local"`                     // the addresses are of this machine
	PortRange      string    `json:"port_range"`                // as it was asked for
	Engine         string    `json:"engine"`                    // "connect", built in, or "nmap"
	Ports          []Port    `json:"ports"`                     // the open ones, lowest first
	OpenCount      int       `json:"open_count"`                // all open ones
	OpenRanges     []string  `json:"open_ranges"`               // the open ones that ports has no room for
	Truncated      bool      `json:"truncated"`                 // ports does not show all
	ClosedCount    int       `json:"closed_count"`              // ports that answered that nobody listens
	// FilteredCount counts ports that did not answer, or for which a firewall
	// or router answered that they cannot be reached.
	FilteredCount int    `json:"filtered_count"`
	Scanned       int    `json:"scanned"`      // ports whose state is known
	PortsTotal    int    `json:"ports_total"`  // ports that were asked for, at each address
	Complete      bool   `json:"complete"`     // all of them were scanned
	ScanTimeMS    string `json:"scan_time_ms"` // milliseconds
	// Unavailable says why ports were not scanned, or processes or the reach not found.
	Unavailable answer.Gaps `json:"unavailable"`
}

// A Job is one scan of one address.
type Job struct {
	Address  netip.Addr
	Ports    []uint16 // ascending
	Local    bool     // the address is one of this machine
	Progress func(done int)
}

// A Result is what a scan found: the open ports, and how many of the others are
// closed or filtered.
type Result struct {
	Open             []uint16 // ascending
	Closed, Filtered int
	// Silent are those of Filtered for which nobody answered, or somebody that the host cannot be
	// reached.
	Silent int
}

// answered reports whether the host, or a firewall in its place, answered at any port.
func (r Result) answered() bool { return r.Known() > r.Silent }

// Known returns how many ports have a state.
func (r Result) Known() int { return len(r.Open) + r.Closed + r.Filtered }

// ErrNoRoute says that this machine knows no route to an address.
var ErrNoRoute = errors.New("no route to the address")

// An Engine scans. With an error, which is that of ctx when it ended first, the
// result holds what was found until then. Scan does not change anything and is safe for
// concurrent use.
type Engine interface {
	Name() string
	Scan(ctx context.Context, job Job) (Result, error)
}

// A Listener is a TCP socket of this machine that accepts connections.
type Listener struct {
	Address netip.AddrPort
	Exposed bool   // to other hosts, unless a packet filter prevents it
	PID     int    // 0 when unknown
	Name    string // of the process
}

// A Machine is what a scan needs to know about the machine it starts from.
type Machine interface {
	// Networks lists the addresses of the interfaces with their prefix lengths.
	Networks(ctx context.Context) ([]netip.Prefix, error)
	// Listeners finds the TCP listeners at the given ports. denied says that
	// some processes could not be looked at.
	Listeners(ctx context.Context, ports []uint16) (list []Listener, denied bool, err error)
}
