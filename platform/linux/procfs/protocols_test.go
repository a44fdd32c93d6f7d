// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"maps"
	"testing"

	"sentinel/internal/testenv"
)

const protocolsHeading = "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh ss gs se re bi br ha uh gp em\n"

func TestSocketsAreCountedByProtocol(t *testing.T) {
	for what, c := range map[string]struct {
		table string
		want  map[string]int
		err   error
	}{
		"some": {
			protocolsHeading + "AF_VSOCK  1240      0      -1   NI       0   yes  kernel      y  n\nSCTPv6    1680      3       1   no       0   yes  sctp        y  y\n",
			map[string]int{"AF_VSOCK": 0, "SCTPv6": 3}, nil,
		},
		"none":       {protocolsHeading, map[string]int{}, nil},
		"short":      {protocolsHeading + "SCTP 1680\n", nil, ErrFormat},
		"no number":  {protocolsHeading + "SCTP 1680 x\n", nil, ErrFormat},
		"too many":   {protocolsHeading + "SCTP 1680 4294967296\n", nil, ErrFormat},
		"not a line": {protocolsHeading + "SCTP 1680 5", map[string]int{}, nil},
	} {
		got, err := New(testenv.Plant(t, map[string]string{"proc/net/protocols": c.table})).Protocols()
		if !maps.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

func FuzzProtocols(f *testing.F) {
	f.Add([]byte(protocolsHeading + "SCTPv6    1680      3       1   no       0   yes  sctp        y  y\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		counts, err := parseProtocols(b)
		for name, n := range counts {
			if err != nil || name == "" || n < 0 {
				t.Errorf("%q: %d, %v", name, n, err)
			}
		}
	})
}
