// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// DefaultPorts are scanned unless the caller gives others: those that only root may
// open.
const DefaultPorts = "1-1024"

// maxPortsText bounds what is read, in bytes: some 800 single ports.
const maxPortsText = 4096

const (
	firstPort = 1
	lastPort  = 65535
)

// A Range is the ports from First to Last, both included.
type Range struct{ First, Last uint16 }

// Ports is a set of ports: ranges in ascending order that neither touch nor
// overlap.
type Ports []Range

// ParsePorts reads ports such as "1-1024", "80,443", "22,8000-8100" or "all".
// Every error is INVALID_PORT_RANGE.
func ParsePorts(text string) (Ports, error) {
	if text == "all" {
		return Ports{{firstPort, lastPort}}, nil
	}
	if text == "" || len(text) > maxPortsText {
		return nil, invalidPorts(text, "has to have 1 to "+strconv.Itoa(maxPortsText)+" characters")
	}
	var ports Ports
	for part := range strings.SplitSeq(text, ",") {
		r, why := parseRange(part)
		if why != "" {
			return nil, invalidPorts(part, why)
		}
		ports = append(ports, r)
	}
	return ports.normalized(), nil
}

func parseRange(text string) (r Range, why string) {
	low, high, isRange := strings.Cut(text, "-")
	first, ok := parsePort(low)
	if !ok {
		return r, "is not a port"
	}
	if !isRange {
		return Range{first, first}, ""
	}
	last, ok := parsePort(high)
	if !ok {
		return r, "is not a range of ports"
	}
	if last < first {
		return r, "ends before it begins"
	}
	return Range{first, last}, ""
}

// parsePort reads a decimal number without sign or leading zeros.
func parsePort(text string) (uint16, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && n >= firstPort && text[0] >= '1' && text[0] <= '9'
}

func invalidPorts(text, why string) error {
	return fault.New(fault.InvalidPortRange, strconv.Quote(sanitize.Text(text, 80))+" "+why+". Ports are numbers from 1 to 65535, ranges such as 1-1024, lists of both, or all.")
}

// normalized sorts and joins the ranges.
func (p Ports) normalized() Ports {
	slices.SortFunc(p, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	joined := p[:0]
	for _, r := range p {
		if n := len(joined); n > 0 && int(r.First) <= int(joined[n-1].Last)+1 {
			joined[n-1].Last = max(joined[n-1].Last, r.Last)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// SetOf returns the set of the given ports, which are in ascending order.
func SetOf(list []uint16) Ports {
	ports := make(Ports, 0, len(list))
	for _, p := range list {
		ports = append(ports, Range{p, p})
	}
	return ports.normalized()
}

// Count returns how many ports the set has.
func (p Ports) Count() int {
	n := 0
	for _, r := range p {
		n += int(r.Last) - int(r.First) + 1
	}
	return n
}

// List returns the ports in ascending order.
func (p Ports) List() []uint16 {
	list := make([]uint16, 0, p.Count())
	for _, r := range p {
		for n := int(r.First); n <= int(r.Last); n++ {
			list = append(list, uint16(n))
		}
	}
	return list
}

// String returns the set in the shortest form that ParsePorts reads.
func (p Ports) String() string {
	parts := make([]string, len(p))
	for i, r := range p {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// String returns "80" or "1-1024".
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return strconv.Itoa(int(r.First)) + "-" + strconv.Itoa(int(r.Last))
}
