// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"encoding/binary"
	"errors"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
)

// An opaque expression is one that the library does not know and leaves out. Only its name is known.
type opaque struct {
	expr.Any
	name string
}

// loads reports whether the expression does nothing but fill a register (struct nft_expr_type in
// net/netfilter/nft_*.c).
func (o opaque) loads() bool {
	switch o.name {
	case "byteorder", "inner", "osf", "rt", "socket", "tunnel", "xfrm":
		return true
	}
	return false
}

// act notes what the expression does: tproxy, and what nobody knows, may hand a packet to any socket.
func (o opaque) act(rule *firewall.Rule) {
	switch {
	case o.loads(), o.name == "dup", o.name == "last": // these two let the packet go on
	case o.name == "fwd":
		rule.Action = firewall.Divert
	default:
		rule.Action, rule.Proxies = firewall.Divert, true
	}
}

// getRules reads the rules of a chain with all of their expressions.
func getRules(conn *nftables.Conn, c *nftables.Chain) ([]*nftables.Rule, error) {
	rules, err := conn.GetRules(c.Table, c)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	names, err := expressionNames(c)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		r.Exprs = withOpaque(byte(c.Table.Family), r.Exprs, names[r.Handle])
	}
	return rules, nil
}

// withOpaque puts an opaque expression wherever one of names was left out of list.
func withOpaque(family byte, list []expr.Any, names []string) []expr.Any {
	if len(list) == len(names) {
		return list
	}
	var whole []expr.Any
	for _, n := range names {
		if len(list) > 0 && nameOf(family, list[0]) == n {
			whole, list = append(whole, list[0]), list[1:]
		} else {
			whole = append(whole, opaque{name: n})
		}
	}
	return append(whole, list...)
}

// nameOf is what the kernel calls an expression, "" if the library cannot write it.
func nameOf(family byte, e expr.Any) string {
	switch e.(type) { // the library cannot write those that have nothing to say
	case *expr.Match:
		return "match"
	case *expr.Target:
		return "target"
	}
	raw, err := expr.Marshal(family, e)
	if err != nil {
		return ""
	}
	a, err := netlink.NewAttributeDecoder(raw)
	if err != nil || !a.Next() || a.Type() != unix.NFTA_EXPR_NAME {
		return ""
	}
	return a.String()
}

// expressionNames lists the names of the expressions of each rule of a chain, by its handle.
func expressionNames(c *nftables.Chain) (map[uint64][]string, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	which, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_RULE_TABLE, Data: []byte(c.Table.Name + "\x00")},
		{Type: unix.NFTA_RULE_CHAIN, Data: []byte(c.Name + "\x00")},
	})
	if err != nil {
		return nil, err
	}
	reply, err := conn.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE, Flags: netlink.Request | netlink.Dump},
		Data:   append([]byte{byte(c.Table.Family), unix.NFNETLINK_V0, 0, 0}, which...), // struct nfgenmsg
	})
	all := map[uint64][]string{}
	for _, m := range reply {
		handle, names, bad := parseNames(m.Data)
		all[handle], err = names, errors.Join(err, bad)
	}
	return all, err
}

// parseNames reads the handle of a rule and the names of its expressions out of a message.
func parseNames(b []byte) (handle uint64, names []string, err error) {
	const header = 4 // struct nfgenmsg
	if len(b) < header {
		return 0, nil, errors.New("a rule of nftables is cut off")
	}
	a, err := netlink.NewAttributeDecoder(b[header:])
	if err != nil {
		return 0, nil, err
	}
	a.ByteOrder = binary.BigEndian
	name := func(e *netlink.AttributeDecoder) error {
		for e.Next() {
			if e.Type() == unix.NFTA_EXPR_NAME {
				names = append(names, e.String())
			}
		}
		return nil
	}
	for a.Next() {
		switch a.Type() {
		case unix.NFTA_RULE_HANDLE:
			handle = a.Uint64()
		case unix.NFTA_RULE_EXPRESSIONS:
			a.Nested(func(list *netlink.AttributeDecoder) error {
				for list.Next() {
					list.Nested(name)
				}
				return nil
			})
		}
	}
	return handle, names, a.Err()
}
