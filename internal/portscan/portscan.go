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
)

// TimeLimit is how long a scan goes on before it answers with what it has.
const TimeLimit = 40 * time.Second

// DefaultRows is how many open ports are shown one by one, as far as maxRowBytes
// of JSON hold them; the others follow as ranges, at most maxRanges of them.
const (
	DefaultRows = 200
	maxRowBytes = 15 << 10
	maxRanges   = 200
)

// A Port is an open port.
type Port struct {
	Port     int    `json:"port"`              // 1 to 65535
	State    string `json:"state" enum:"open"` // open ports alone are listed
	Service  string `json:"service"`           // usually found at this port; not what answered. "unknown" without a custom
	Protocol string `json:"protocol"`          // "tcp"
	// PID and ProcessName tell who listens; for ports of this machine alone.
	PID         int    `json:"pid,omitempty"`
	ProcessName string `json:"process_name,omitempty"` // who listens; for ports of this machine alone
	// Bind is the address that the process listens at; for ports of this
	// machine alone.
	Bind string `json:"bind,omitempty"`
	// Exposed says that the address is not loopback, so that other hosts can
	// reach it unless a firewall stands before it; for ports of this machine alone.
	Exposed *bool `json:"exposed,omitempty"`
}

// A Report answers scan_ports.
type Report struct {
	Target         string   `json:"target"`                    // as it was asked for
	Address        string   `json:"address"`                   // that was scanned
	OtherAddresses []string `json:"other_addresses,omitempty"` // of the name; not scanned
	Local          bool     `json:"local"`                     // the address is one of this machine
	PortRange      string   `json:"port_range"`                // as it was asked for
	Engine         string   `json:"engine"`                    // "connect", built in, or "nmap"
	Ports          []Port   `json:"ports"`                     // the open ones, lowest first
	OpenCount      int      `json:"open_count"`                // all open ones
	OpenRanges     []string `json:"open_ranges"`               // the open ones that ports has no room for
	Truncated      bool     `json:"truncated"`                 // ports does not show all
	ClosedCount    int      `json:"closed_count"`              // ports that answered that nobody listens
	// FilteredCount counts ports that did not answer, or for which a firewall
	// or router answered that they cannot be reached.
	FilteredCount int    `json:"filtered_count"`
	Scanned       int    `json:"scanned"`      // ports whose state is known
	PortsTotal    int    `json:"ports_total"`  // ports that were asked for
	Complete      bool   `json:"complete"`     // all of them were scanned
	ScanTimeMS    string `json:"scan_time_ms"` // milliseconds
	// Unavailable says why ports were not scanned or processes not found.
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
}

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
