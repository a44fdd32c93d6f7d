// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
)

// maxChains bounds how many chains are read; Kubernetes hosts have thousands,
// but few that input continues in.
const maxChains = 2000

// Chains reads the filter chains that see incoming packets and those that
// they continue in. It needs CAP_NET_ADMIN; without it the error is
// fs.ErrPermission. A kernel without nftables has none.
func Chains() ([]firewall.Chain, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, readError(err)
	}
	all, err := conn.ListChains()
	if err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, readError(err)
	}
	if len(all) > maxChains {
		return nil, fmt.Errorf("there are more than %d chains", maxChains)
	}
	tables, err := conn.ListTables()
	if err != nil {
		return nil, readError(err)
	}
	return reachable(conn, withoutDormant(all, tables))
}

// withoutDormant leaves out the chains of dormant tables, which are loaded and not in
// use (nft(8)).
func withoutDormant(chains []*nftables.Chain, tables []*nftables.Table) []*nftables.Chain {
	return slices.DeleteFunc(chains, func(c *nftables.Chain) bool {
		return slices.ContainsFunc(tables, func(t *nftables.Table) bool {
			return t.Name == c.Table.Name && t.Family == c.Table.Family && dormant(t)
		})
	})
}

// dormant looks for the flag in either byte order: the kernel sends that of the
// network, and the library reads that of the machine.
func dormant(t *nftables.Table) bool {
	const flag = 1 // NFT_TABLE_F_DORMANT
	return (t.Flags|bits.ReverseBytes32(t.Flags))&flag != 0
}

// absent says that the kernel has no nftables at all, which is not the same as
// not being allowed to look. nfnetlink answers EINVAL for a part of itself that is not there
// (net/netfilter/nfnetlink.c).
func absent(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) ||
		errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EINVAL)
}

func readError(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("read nftables: %w", fs.ErrPermission)
	}
	return fmt.Errorf("read nftables: %w", err)
}

// reachable reads the rules of the chains that packets come to and, as long as new ones turn up,
// of the chains that they jump to.
func reachable(conn *nftables.Conn, all []*nftables.Chain) ([]firewall.Chain, error) {
	var list []firewall.Chain
	queue := baseChains(all)
	for at := 0; at < len(queue); at++ {
		c := queue[at]
		rules, err := getRules(conn, c)
		if err != nil {
			return nil, readError(err)
		}
		sets, err := readSets(conn, c.Table, rules)
		if err != nil {
			return nil, readError(err)
		}
		mapped, err := mapVerdicts(sets, rules)
		if err != nil {
			return nil, readError(err)
		}
		described := describe(c, rules, mapped)
		for _, r := range rules {
			described.Rules = append(described.Rules, interpret(r, sets)...)
		}
		list = append(list, described)
		for _, name := range described.Jumps {
			queue = appendChain(queue, all, c.Table, name)
		}
	}
	return list, nil
}

// baseChains selects the base chains that what this host receives comes to.
func baseChains(all []*nftables.Chain) []*nftables.Chain {
	var list []*nftables.Chain
	for _, c := range all {
		if hookOf(c) != firewall.NoHook {
			list = append(list, c)
		}
	}
	return list
}

// hookOf is where packets for this host come to a chain. Hooks have numbers of their own in the
// families netdev and bridge, of which only the latter's are those of inet.
func hookOf(c *nftables.Chain) firewall.Hook {
	if c.Hooknum == nil {
		return firewall.NoHook
	}
	hook, family := *c.Hooknum, c.Table.Family
	in := hook == *nftables.ChainHookInput
	before := hook == *nftables.ChainHookPrerouting
	switch {
	case family == nftables.TableFamilyNetdev && hook == *nftables.ChainHookIngress, family == nftables.TableFamilyINet && hook == inetIngress,
		family == nftables.TableFamilyBridge && (in || before):
		return firewall.Aside
	case family != nftables.TableFamilyINet && family != nftables.TableFamilyIPv4 && family != nftables.TableFamilyIPv6:
		return firewall.NoHook
	case c.Type == nftables.ChainTypeNAT && before:
		return firewall.Translation
	case c.Type == nftables.ChainTypeFilter && before:
		return firewall.Prerouting
	case c.Type == nftables.ChainTypeFilter && in:
		return firewall.Input
	default:
		return firewall.NoHook
	}
}

// isInput selects the base chains of type filter that see what this host receives: at the hooks
// input and prerouting, and at ingress, where the device hands it over. Those of family bridge see
// the frames of bridges.
func isInput(c *nftables.Chain) bool {
	return hookOf(c) != firewall.NoHook && c.Type == nftables.ChainTypeFilter && c.Table.Family != nftables.TableFamilyBridge
}

// inetIngress is NF_INET_INGRESS (include/uapi/linux/netfilter.h): the hook of
// a device has another number in family inet than in netdev.
const inetIngress nftables.ChainHook = 5

// familyName names a family as nft(8) does.
func familyName(f nftables.TableFamily) string {
	switch f {
	case nftables.TableFamilyINet:
		return "inet"
	case nftables.TableFamilyIPv4:
		return "ip"
	case nftables.TableFamilyIPv6:
		return "ip6"
	case nftables.TableFamilyNetdev:
		return "netdev"
	default:
		return "other"
	}
}

func appendChain(queue, all []*nftables.Chain, table *nftables.Table, name string) []*nftables.Chain {
	for _, c := range queue {
		if c.Name == name && *c.Table == *table {
			return queue
		}
	}
	for _, c := range all {
		if c.Name == name && c.Table.Name == table.Name && c.Table.Family == table.Family {
			return append(queue, c)
		}
	}
	return queue
}

// describe notes what can become of a packet in c; mapped are the verdicts of
// the maps that its rules use.
func describe(c *nftables.Chain, rules []*nftables.Rule, mapped []*expr.Verdict) firewall.Chain {
	d := firewall.Chain{
		Family: familyName(c.Table.Family), Table: c.Table.Name, Name: c.Name, Input: isInput(c), Hook: hookOf(c),
		DropPolicy: c.Policy != nil && *c.Policy == nftables.ChainPolicyDrop,
	}
	for _, r := range rules {
		for _, e := range r.Exprs {
			note(&d, e)
		}
	}
	for _, v := range mapped {
		note(&d, v)
	}
	return d
}

func note(d *firewall.Chain, e expr.Any) {
	d.Drops = d.Drops || drops(e)
	if v, ok := e.(*expr.Verdict); ok && (v.Kind == expr.VerdictJump || v.Kind == expr.VerdictGoto) {
		d.Jumps = append(d.Jumps, v.Chain)
	}
}

// drops says whether an expression ends a packet: drop, reject, and the targets
// of the same meaning that iptables-nft leaves as x_tables extensions.
func drops(e expr.Any) bool {
	switch e := e.(type) {
	case *expr.Verdict:
		return e.Kind == expr.VerdictDrop
	case *expr.Reject:
		return true
	case *expr.Target:
		return e.Name == "REJECT" || e.Name == "DROP" || e.Name == "TARPIT"
	}
	return false
}
