// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"slices"
	"testing"

	"sentinel/internal/answer"
)

// others is a machine with sockets that the lists do not have.
type others struct {
	*machine
	found Unlisted
	err   error
}

func (o others) Unlisted(context.Context) (Unlisted, error) { return o.found, o.err }

func TestWhatIsNotListedIsSaid(t *testing.T) {
	owners := map[uint64]Owner{8: {PID: 7, Name: "a\x1bb"}}
	for what, c := range map[string]struct {
		found Unlisted
		err   error
		want  []string
	}{
		"nothing": {Unlisted{}, nil, nil},
		"one":     {Unlisted{Machines: []VSock{{22, 8}}}, nil, []string{`1 listener of AF_VSOCK (port 22), which the hypervisor or virtual machines reach, is not in the list; 22 is of "a�b" (PID 7)`}},
		"several": {Unlisted{Machines: []VSock{{1<<32 - 2, 4}, {5001, 8}, {5000, 5}, {5002, 6}}}, nil, []string{
			`4 listeners of AF_VSOCK (ports 5000, 5001, 5002, 1 more), which the hypervisor or virtual machines reach, are not in the list; 5001 is of "a�b" (PID 7)`,
		}},
		"nobody's": {Unlisted{Machines: []VSock{{22, 4}}}, nil, []string{`1 listener of AF_VSOCK (port 22), which the hypervisor or virtual machines reach, is not in the list`}},
		"other protocols": {Unlisted{Open: []Count{{"SCTP", 3}, {"DCCP", 1}}}, errors.New("it is not told"), []string{
			"3 open sockets of SCTP, which may listen, are not in the list", "1 open socket of DCCP, which may listen, is not in the list", "it is not told",
		}},
	} {
		var gaps answer.Gaps
		if _, err := Collect(t.Context(), others{&machine{owners: owners}, c.found, c.err}, 0, &gaps); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range gaps {
			if g.Field != "listening" {
				t.Errorf("%s: %q", what, g.Field)
			}
			got = append(got, g.Reason)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", what, got)
		}
	}
}
