// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"slices"
	"testing"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A name that is not found again would make all that stands behind it opaque.
func TestWhatTheLibraryKnowsKeepsItsPlace(t *testing.T) {
	known := map[string]expr.Any{
		"ct": &expr.Ct{}, "range": &expr.Range{}, "meta": &expr.Meta{}, "cmp": &expr.Cmp{}, "counter": &expr.Counter{}, "objref": &expr.Objref{},
		"payload": &expr.Payload{}, "lookup": &expr.Lookup{}, "immediate": &expr.Verdict{}, "bitwise": &expr.Bitwise{}, "redir": &expr.Redir{},
		"nat": &expr.NAT{}, "limit": &expr.Limit{}, "quota": &expr.Quota{}, "dynset": &expr.Dynset{}, "log": &expr.Log{}, "exthdr": &expr.Exthdr{},
		"connlimit": &expr.Connlimit{}, "queue": &expr.Queue{}, "flow_offload": &expr.FlowOffload{}, "reject": &expr.Reject{}, "masq": &expr.Masq{},
		"hash": &expr.Hash{}, "synproxy": &expr.SynProxy{}, "secmark": &expr.SecMark{}, "fib": &expr.Fib{}, "numgen": &expr.Numgen{}, "notrack": &expr.Notrack{},
		"target": &expr.Target{Name: "LOG"}, "match": &expr.Match{Name: "comment"},
		"cthelper": &expr.CtHelper{}, "cttimeout": &expr.CtTimeout{}, "ctexpect": &expr.CtExpect{},
	}
	for name, e := range known {
		got := withOpaque(unix.NFPROTO_INET, []expr.Any{e}, []string{"socket", name, "tproxy"})
		if want := []expr.Any{opaque{name: "socket"}, e, opaque{name: "tproxy"}}; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
