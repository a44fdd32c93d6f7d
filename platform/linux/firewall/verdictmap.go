// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

var errVerdict = errors.New("a verdict map holds something else")

// mapVerdicts lists the verdicts of the maps that rules look packets up in, as in
// "ct state vmap { invalid : drop }": there, drops and jumps are not in the rule.
func mapVerdicts(sets map[string]setContent, rules []*nftables.Rule) ([]*expr.Verdict, error) {
	var list []*expr.Verdict
	for _, l := range lookups(rules) {
		if !isVerdictMap(l) {
			continue
		}
		for _, k := range sets[l.SetName].keys {
			v, err := parseVerdict(k.value)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	}
	return list, nil
}

func isVerdictMap(l *expr.Lookup) bool {
	return l.IsDestRegSet && l.DestRegister == unix.NFT_REG_VERDICT
}

func lookups(rules []*nftables.Rule) []*expr.Lookup {
	var list []*expr.Lookup
	for _, r := range rules {
		for _, e := range r.Exprs {
			if l, ok := e.(*expr.Lookup); ok {
				list = append(list, l)
			}
		}
	}
	return list
}

// parseVerdict parses the netlink attributes of a verdict, which the library
// leaves as they are: a code in network byte order, and the chain of a jump.
func parseVerdict(b []byte) (*expr.Verdict, error) {
	const header = 4 // struct nlattr: length and type
	var v expr.Verdict
	found := false
	for len(b) >= header {
		length := int(binary.NativeEndian.Uint16(b))
		if length < header || length > len(b) {
			return nil, errVerdict
		}
		value := b[header:length]
		switch binary.NativeEndian.Uint16(b[2:]) {
		case unix.NFTA_VERDICT_CODE:
			if len(value) != 4 {
				return nil, errVerdict
			}
			v.Kind, found = expr.VerdictKind(int32(binary.BigEndian.Uint32(value))), true
		case unix.NFTA_VERDICT_CHAIN:
			v.Chain = string(bytes.TrimRight(value, "\x00"))
		}
		b = b[min(len(b), (length+3)&^3):]
	}
	if !found || len(b) > 0 {
		return nil, errVerdict
	}
	return &v, nil
}
