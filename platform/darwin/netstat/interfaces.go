// SPDX-License-Identifier: Apache-2.0

package netstat

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/sysexec"
)

// An Interface holds the counters of one network interface since it came up.
type Interface struct {
	Name                            string
	PacketsIn, ErrorsIn, BytesIn    uint64
	PacketsOut, ErrorsOut, BytesOut uint64
	// DropsOut counts packets dropped because the output queue was full. It is nil if netstat does
	// not report it; it never reports packets dropped on input.
	DropsOut *uint64
}

// Interfaces returns all interfaces, including those that are down. netstat reads 64-bit counters
// even where the kernel shows other programs only 32 bits (macOS 26).
func Interfaces(ctx context.Context, runner sysexec.Runner) ([]Interface, error) {
	raw, err := run(ctx, runner, "-ibdnW")
	if err != nil {
		return nil, err
	}
	return parseInterfaces(raw)
}

var (
	errInterfaces = errors.New("netstat printed no table of interfaces with bytes")
	errCounters   = errors.New("netstat printed counters that are not numbers")
)

// counters are the columns after the address, of which the last may be absent.
var counters = []string{"Ipkts", "Ierrs", "Ibytes", "Opkts", "Oerrs", "Obytes", "Coll", "Drop"}

// parseInterfaces reads only the rows whose network is "<Link#N>", one per interface. The rows of
// its addresses repeat the counters.
func parseInterfaces(raw []byte) ([]Interface, error) {
	header, rows, _ := strings.Cut(string(raw), "\n")
	names := strings.Fields(header)
	address := slices.Index(names, "Address")
	if address < 0 || !slices.Equal(names[address+1:], counters[:min(len(counters), len(names)-address-1)]) || len(names)-address-1 < len(counters)-1 {
		return nil, errInterfaces
	}
	var list []Interface
	for line := range strings.Lines(rows) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "<Link#") {
			continue
		}
		i, err := newInterface(fields[0], fields[3:])
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	if len(list) == 0 {
		return nil, errInterfaces
	}
	return list, nil
}

// newInterface reads the fields after the network: a hardware address, if there is one, and the
// counters. A star after the name means that the interface is down.
func newInterface(name string, fields []string) (Interface, error) {
	i := Interface{Name: strings.TrimSuffix(name, "*")}
	if len(fields) > 0 && strings.ContainsAny(fields[0], ":.") {
		fields = fields[1:]
	}
	if len(fields) < len(counters)-1 || len(fields) > len(counters) || i.Name == "" {
		return i, errCounters
	}
	numbers := make([]uint64, len(fields))
	for n, field := range fields {
		var err error
		if numbers[n], err = strconv.ParseUint(field, 10, 64); err != nil {
			return i, errCounters
		}
	}
	i.PacketsIn, i.ErrorsIn, i.BytesIn = numbers[0], numbers[1], numbers[2]
	i.PacketsOut, i.ErrorsOut, i.BytesOut = numbers[3], numbers[4], numbers[5]
	if len(numbers) == len(counters) {
		i.DropsOut = &numbers[7]
	}
	return i, nil
}
