// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/platform/linux/conntrack"
)

// maxRules bounds how many rules of the own chain are read.
const maxRules = 4096

// A ruleset is that of sentinel itself in the kernel. A test replaces dial.
type ruleset struct {
	dial func() (*nftables.Conn, error)
}

const (
	// messageElements is how many elements a message has: its list may have 64 KiB
	// (struct nlattr), and one of IPv6 takes 60 bytes.
	messageElements = 1000
	// transactionSize is what the buffer of the socket must hold, in bytes: a transaction
	// is one datagram (nfnetlink(7)), and one with maxFlows elements takes some 3 MB.
	transactionSize = 8 << 20
	// answersSize is what it must hold of what the kernel answers to a transaction, in bytes: an
	// acknowledgement of each message, and each rule, before the first of them is read.
	answersSize = 4 << 20
)

func liveRuleset() ruleset {
	return ruleset{func() (*nftables.Conn, error) { return nftables.New(nftables.WithSockOptions(makeRoom)) }}
}

// makeRoom lets root have larger buffers than sysctl(8) allows everybody (SO_RCVBUFFORCE of socket(7)).
func makeRoom(c *netlink.Conn) error {
	return errors.Join(c.SetWriteBuffer(transactionSize), c.SetReadBuffer(answersSize))
}

// A content is what the own table holds.
type content struct {
	rules []*nftables.Rule // of its chain
	ports []firewall.Port  // of the set of those that are let in
}

// usable says whether the kernel has nftables and lets this process use it.
func (r ruleset) usable() error {
	conn, err := r.dial()
	if err == nil {
		_, err = conn.ListTables()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return fault.New(fault.PermissionDenied, "Switching the firewall on needs root.")
	default:
		return noFirewall(err)
	}
}

// load puts the whole rule set in place, in one transaction: packets see all of
// the old one or all of the new one.
func (r ruleset) load(ports []firewall.Port, flows []conntrack.Connection) error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	t := table()
	conn.AddTable(t) // there has to be one to delete
	conn.DelTable(t)
	conn.AddTable(t)
	for _, v6 := range []bool{false, true} {
		var elements []nftables.SetElement
		for _, f := range flows {
			if f.Remote.Addr().Is6() == v6 {
				elements = append(elements, liveElement(f))
			}
		}
		set := liveSet(t, v6)
		if err := conn.AddSet(set, nil); err != nil {
			return err
		}
		for part := range slices.Chunk(elements, messageElements) {
			if err := conn.SetAddElements(set, part); err != nil {
				return err
			}
		}
	}
	if err := conn.AddSet(openSet(t), nil); err != nil {
		return err
	}
	for part := range slices.Chunk(openElements(ports), messageElements) {
		if err := conn.SetAddElements(openSet(t), part); err != nil {
			return err
		}
	}
	c := conn.AddChain(chain(t))
	for _, l := range lines(ports) {
		conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: l.exprs, UserData: comment(l.comment)})
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("load the rules into nftables: %w", err)
	}
	return nil
}

// unload removes the table. One that is not there is no error.
func (r ruleset) unload() error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	conn.DelTable(table())
	if err := conn.Flush(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the rules from nftables: %w", err)
	}
	return nil
}

// loaded reads the own table. ok is false when the table or the
// chain is not there, dormant, or not hooked in as it should be.
func (r ruleset) loaded() (have *content, ok bool, err error) {
	conn, err := r.dial()
	if err != nil {
		return nil, false, err
	}
	t, c, err := find(conn)
	if err != nil || c == nil {
		return nil, false, err
	}
	rules, err := conn.GetRules(t, c)
	if err != nil {
		return nil, false, fmt.Errorf("read the rules of %s: %w", t.Name, err)
	}
	if len(rules) > maxRules {
		return nil, false, fmt.Errorf("there are more than %d rules in %s", maxRules, t.Name)
	}
	have = &content{rules: rules}
	have.ports, err = openedBy(conn, rules)
	return have, err == nil, err
}

// openedBy reads the set of ports, where the rules look into it: otherwise it may not be there.
func openedBy(conn *nftables.Conn, rules []*nftables.Rule) ([]firewall.Port, error) {
	if !slices.ContainsFunc(rules, func(r *nftables.Rule) bool { return same(r.Exprs, openPorts()) }) {
		return nil, nil
	}
	elements, err := conn.GetSetElements(openSet(table()))
	if err != nil {
		return nil, fmt.Errorf("read the ports of %s: %w", firewall.BaselineTable, err)
	}
	return portsOf(elements), nil
}

// find returns a nil chain when it is not there as it should be.
func find(conn *nftables.Conn) (*nftables.Table, *nftables.Chain, error) {
	tables, err := conn.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, nil, fmt.Errorf("list the tables of nftables: %w", err)
	}
	for _, t := range tables {
		if t.Name != firewall.BaselineTable {
			continue
		}
		chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyINet)
		if err != nil {
			return nil, nil, fmt.Errorf("list the chains of nftables: %w", err)
		}
		for _, c := range chains {
			if c.Table.Name == t.Name && c.Name == chainName && hooked(c) && !dormant(t) {
				return t, c, nil
			}
		}
	}
	return nil, nil, nil
}

func hooked(c *nftables.Chain) bool {
	return c.Hooknum != nil && *c.Hooknum == *nftables.ChainHookInput && c.Type == nftables.ChainTypeFilter &&
		c.Priority != nil && *c.Priority == *nftables.ChainPriorityFilter && c.Policy != nil && *c.Policy == nftables.ChainPolicyDrop
}

// whole says whether all that lets ports in is there, the rules in order, and nothing
// between them drops. Rules that the owner has added to accept more may stand among them.
func whole(have *content, ports []firewall.Port) bool {
	if have == nil || slices.ContainsFunc(ports, func(p firewall.Port) bool { return p.Number != 0 && !slices.Contains(have.ports, p) }) {
		return false
	}
	wanted := lines(ports)
	for _, r := range have.rules {
		switch {
		case len(wanted) == 0:
			return true
		case same(r.Exprs, wanted[0].exprs):
			wanted = wanted[1:]
		case ends(r.Exprs):
			return false
		}
	}
	return len(wanted) == 0
}

// same compares what the kernel would be sent.
func same(a, b []expr.Any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, err := expr.Marshal(byte(nftables.TableFamilyINet), a[i])
		y, err2 := expr.Marshal(byte(nftables.TableFamilyINet), b[i])
		if err != nil || err2 != nil || !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

// ends says whether a rule can end a packet or lead it elsewhere.
func ends(exprs []expr.Any) bool {
	for _, e := range exprs {
		switch e := e.(type) {
		case *expr.Verdict:
			if e.Kind != expr.VerdictAccept && e.Kind != expr.VerdictContinue {
				return true
			}
		case *expr.Reject:
			return true
		}
	}
	return false
}

// allowedBy returns the ports of the set, and reads the protocols back out of the comments of
// the rules, in order.
func allowedBy(have *content) []firewall.Port {
	if have == nil {
		return nil
	}
	var protocols []firewall.Port
	for _, r := range have.rules {
		text, ok := userdata.GetString(r.UserData, userdata.TypeComment)
		text, cut := strings.CutPrefix(text, allowComment)
		if p, err := firewall.ParseOpening(text); ok && cut && err == nil && p.Number == 0 && same(r.Exprs, openProtocol(p)) {
			protocols = append(protocols, p)
		}
	}
	return union(protocols, have.ports)
}
