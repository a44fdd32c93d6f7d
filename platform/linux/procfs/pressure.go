// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"os"
)

// A Stall is one line of a pressure file: the share of time, in percent over 10
// and 60 seconds and 5 minutes, in which tasks waited for the resource.
type Stall struct {
	Avg10, Avg60, Avg300 float64
}

// A Pressure is one pressure file (Documentation/accounting/psi.rst): some is the share of time in
// which at least one task waited, full the share in which all of them did.
type Pressure struct {
	Some Stall
	Full *Stall // absent for cpu before kernel 5.13
}

// Pressure reads /proc/pressure/<resource>; resource is cpu, memory or io.
// Kernels before 4.20, or without PSI, have no such file.
func (fs FS) Pressure(resource string) (Pressure, error) {
	return readWith(fs, ParsePressure, "pressure", resource)
}

// ReadPressure reads a pressure file outside /proc, such as a cgroup's.
func ReadPressure(path string) (Pressure, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Pressure{}, err
	}
	return ParsePressure(raw)
}

// ParsePressure parses the content of a pressure file.
func ParsePressure(b []byte) (Pressure, error) {
	var p Pressure
	found := false
	for line := range lines(b) {
		fields := bytes.Fields(line)
		if len(fields) < 4 {
			continue
		}
		stall, err := parseStall(fields[1:4])
		if err != nil {
			return Pressure{}, err
		}
		switch string(fields[0]) {
		case "some":
			p.Some, found = stall, true
		case "full":
			p.Full = &stall
		}
	}
	if !found {
		return Pressure{}, ErrFormat
	}
	return p, nil
}

func parseStall(fields [][]byte) (Stall, error) {
	var s Stall
	for i, want := range []struct {
		name string
		to   *float64
	}{{"avg10=", &s.Avg10}, {"avg60=", &s.Avg60}, {"avg300=", &s.Avg300}} {
		value, ok := bytes.CutPrefix(fields[i], []byte(want.name))
		x, isNumber := float(value)
		if !ok || !isNumber || x > 100 {
			return Stall{}, fmt.Errorf("%s: %w", want.name, ErrFormat)
		}
		*want.to = x
	}
	return s, nil
}
