// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
)

// An Interface holds the counters of one line of /proc/net/dev since the
// interface came up. All are 64 bits wide.
type Interface struct {
	Name                 string
	BytesIn, PacketsIn   uint64
	ErrorsIn, DropsIn    uint64
	BytesOut, PacketsOut uint64
	ErrorsOut, DropsOut  uint64
}

// Interfaces reads /proc/net/dev of the caller's network namespace.
func (fs FS) Interfaces() ([]Interface, error) {
	return readWith(fs, parseInterfaces, "net", "dev")
}

// parseInterfaces skips the two header lines. A name may contain a colon (an alias), so it ends at
// the last one.
func parseInterfaces(b []byte) ([]Interface, error) {
	list := []Interface{}
	row := 0
	for line := range lines(b) {
		row++
		if row <= 2 {
			if !bytes.Contains(line, []byte("|")) {
				return nil, fmt.Errorf("titles: %w", ErrFormat)
			}
			continue
		}
		i, err := parseInterface(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", row, err)
		}
		list = append(list, i)
	}
	if row < 2 {
		return nil, ErrFormat
	}
	return list, nil
}

func parseInterface(line []byte) (Interface, error) {
	colon := bytes.LastIndexByte(line, ':')
	if colon < 1 {
		return Interface{}, ErrFormat
	}
	i := Interface{Name: string(bytes.TrimSpace(line[:colon]))}
	fields := bytes.Fields(line[colon+1:])
	if i.Name == "" || len(fields) < 16 {
		return Interface{}, ErrFormat
	}
	for at, to := range map[int]*uint64{
		0: &i.BytesIn, 1: &i.PacketsIn, 2: &i.ErrorsIn, 3: &i.DropsIn,
		8: &i.BytesOut, 9: &i.PacketsOut, 10: &i.ErrorsOut, 11: &i.DropsOut,
	} {
		n, ok := number(fields[at])
		if !ok {
			return Interface{}, ErrFormat
		}
		*to = n
	}
	return i, nil
}
