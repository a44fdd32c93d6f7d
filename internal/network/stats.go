// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sampling"
	"sentinel/internal/sanitize"
)

// InterfaceStats are the counters and rates of one interface.
type InterfaceStats struct {
	Name        string `json:"name"`         // as the kernel has it: "eth0"
	BytesSent   uint64 `json:"bytes_sent"`   // since the interface appeared
	BytesRecv   uint64 `json:"bytes_recv"`   // since the interface appeared
	PacketsSent uint64 `json:"packets_sent"` // since the interface appeared
	PacketsRecv uint64 `json:"packets_recv"` // since the interface appeared
	ErrorsIn    uint64 `json:"errors_in"`    // packets that arrived damaged
	ErrorsOut   uint64 `json:"errors_out"`   // packets that could not be sent
	// Drops are absent where the system does not report them: macOS counts no
	// incoming ones.
	DropsIn  *uint64 `json:"drops_in,omitempty"`
	DropsOut *uint64 `json:"drops_out,omitempty"` // packets that were dropped on the way out, for want of buffer space; absent where the system does not report it
	Loopback bool    `json:"loopback"`            // loopback is not in the totals
	// Rates over the window, in bytes per second; absent when the interface
	// appeared or was reset within it.
	SentPerSecond *int64 `json:"bytes_sent_per_second,omitempty"`
	RecvPerSecond *int64 `json:"bytes_recv_per_second,omitempty"` // bytes per second over the window; absent as the other rate
}

// ConnectionCounts counts sockets of TCP, UDP and UDP-Lite. The states are those of TCP only.
type ConnectionCounts struct {
	Total       int `json:"total"`       // all of them
	TCP         int `json:"tcp"`         // all states
	UDP         int `json:"udp"`         // all sockets, those of UDP-Lite too
	Established int `json:"established"` // TCP only, as are the states below
	Listen      int `json:"listen"`      // TCP only; UDP sockets that wait for packets are in udp
	TimeWait    int `json:"time_wait"`   // closed here, waiting for late packets
	CloseWait   int `json:"close_wait"`  // closed by the other end, but not by the process here
	Other       int `json:"other"`       // TCP in any other state
}

// Stats are the numbers of get_network_stats.
type Stats struct {
	Interfaces      []InterfaceStats  `json:"interfaces"`            // the busiest first
	InterfacesTotal int               `json:"interfaces_total"`      // before the list was cut
	Truncated       bool              `json:"truncated"`             // interfaces does not show all
	Connections     *ConnectionCounts `json:"connections,omitempty"` // by protocol and state; absent when they could not be read
	TotalBytesSent  uint64            `json:"total_bytes_sent"`      // without loopback
	TotalBytesRecv  uint64            `json:"total_bytes_recv"`      // without loopback
	WindowMS        int64             `json:"window_ms"`             // milliseconds over which rates were measured
}

// A Report answers get_network_stats.
type Report struct {
	Stats       Stats       `json:"stats"`       // counters and rates
	Unavailable answer.Gaps `json:"unavailable"` // what could not be read, and why
}

// InterfaceRows is how many interfaces an answer shows.
const InterfaceRows = 50

// Measure reads the counters twice, one window apart, and counts sockets. At most
// rows interfaces are listed (0 means all), busiest first.
func Measure(ctx context.Context, source Source, rows int) (Report, error) {
	before, err := source.Interfaces(ctx)
	if err != nil {
		return Report{}, err
	}
	began := time.Now()
	if err := sampling.Wait(ctx); err != nil {
		return Report{}, err
	}
	after, err := source.Interfaces(ctx)
	if err != nil {
		return Report{}, err
	}
	elapsed := time.Since(began)
	gaps := answer.Gaps{}
	counts, err := count(ctx, source)
	if err != nil {
		if ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		gaps.Add("stats.connections", err)
		counts = nil
	}
	if slices.ContainsFunc(after, func(i Interface) bool { return i.NoDropsIn }) {
		gaps.Note("stats.interfaces.drops_in", "this system does not count packets that it drops on the way in")
	}
	stats := interfaces(before, after, elapsed, rows)
	stats.Connections = counts
	return Report{Stats: stats, Unavailable: gaps}, nil
}

func count(ctx context.Context, source Source) (*ConnectionCounts, error) {
	var c ConnectionCounts
	err := source.Sockets(ctx, c.add)
	return &c, err
}

func (c *ConnectionCounts) add(s Socket) {
	c.Total++
	if s.Protocol != TCP {
		c.UDP++
		return
	}
	c.TCP++
	switch s.State {
	case Established:
		c.Established++
	case Listen:
		c.Listen++
	case TimeWait:
		c.TimeWait++
	case CloseWait:
		c.CloseWait++
	default:
		c.Other++
	}
}

func interfaces(before, after []Interface, elapsed time.Duration, rows int) Stats {
	earlier := make(map[string]Interface, len(before))
	for _, i := range before {
		earlier[i.Name] = i
	}
	s := Stats{Interfaces: []InterfaceStats{}, InterfacesTotal: len(after), WindowMS: elapsed.Milliseconds()}
	for _, i := range after {
		if !i.Loopback {
			s.TotalBytesSent += i.BytesOut
			s.TotalBytesRecv += i.BytesIn
		}
		first, known := earlier[i.Name]
		s.Interfaces = append(s.Interfaces, describe(i, first, known, elapsed))
	}
	slices.SortStableFunc(s.Interfaces, busiest)
	if rows > 0 && rows < len(s.Interfaces) {
		s.Interfaces, s.Truncated = s.Interfaces[:rows], true
	}
	return s
}

func describe(i, first Interface, known bool, elapsed time.Duration) InterfaceStats {
	d := InterfaceStats{
		Name: sanitize.Text(i.Name, 32), Loopback: i.Loopback,
		BytesSent: i.BytesOut, BytesRecv: i.BytesIn, PacketsSent: i.PacketsOut, PacketsRecv: i.PacketsIn,
		ErrorsIn: i.ErrorsIn, ErrorsOut: i.ErrorsOut,
	}
	if !i.NoDropsIn {
		d.DropsIn = &i.DropsIn
	}
	if !i.NoDropsOut {
		d.DropsOut = &i.DropsOut
	}
	if known {
		d.SentPerSecond = rate(first.BytesOut, i.BytesOut, elapsed)
		d.RecvPerSecond = rate(first.BytesIn, i.BytesIn, elapsed)
	}
	return d
}

// rate returns bytes per second, or nil when a counter ran backwards or jumped
// implausibly far: the interface was reset, and the rate is unknown.
func rate(first, second uint64, elapsed time.Duration) *int64 {
	if second < first || elapsed <= 0 {
		return nil
	}
	perSecond := math.Round(float64(second-first) / elapsed.Seconds())
	if perSecond >= math.MaxInt64 {
		return nil
	}
	r := int64(perSecond)
	return &r
}

// busiest sorts real interfaces before loopback, then by traffic.
func busiest(a, b InterfaceStats) int {
	return cmp.Or(
		answer.TrueFirst(!a.Loopback, !b.Loopback),
		cmp.Compare(b.BytesSent+b.BytesRecv, a.BytesSent+a.BytesRecv),
		cmp.Compare(a.Name, b.Name),
	)
}
