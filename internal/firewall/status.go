// SPDX-License-Identifier: Apache-2.0

// Package firewall determines whether a firewall protects this machine, and turns one on.
package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sentinel/internal/answer"
)

// The states of a firewall, by the specification.
const (
	Active   = "ACTIVE"
	Disabled = "DISABLED"
	Unknown  = "UNKNOWN"
)

// OwnTable is the table that holds addresses blocked by sentinel. Blocking a
// few addresses is not a firewall, so it does not count.
const OwnTable = "sentinel"

// OwnChain holds those addresses without nftables: a chain in the filter table of iptables, which
// does not count either.
const OwnChain = "SENTINEL"

// A Chain is a chain of packet filter rules as the kernel has it loaded.
type Chain struct {
	// Family is the table's family: "ip" (IPv4), "ip6", "inet" (both), or "netdev" (everything that
	// a network device receives).
	Family string
	Table  string
	Name   string
	// Input reports that the kernel passes every packet for this host to the chain.
	Input bool
	// DropPolicy reports that a packet that no rule accepts is dropped.
	DropPolicy bool
	// Drops reports that a rule in the chain itself drops or rejects.
	Drops bool
	// Jumps are the chains of the same family and table to which rules jump.
	Jumps []string
	// Hook is where packets for this host come to the chain by themselves.
	Hook Hook
	// XTables reports that the chain is one of x_tables, which has tables of the same names.
	XTables bool
	// Rules are those of the chain, in order.
	Rules []Rule
}

// Facts holds what the platform reports about the firewall.
type Facts struct {
	// Managers are the tools that report that they are on: ufw, firewalld.
	Managers []string
	// Chains are the loaded rules that could be read; all of them if Unreadable is nil.
	Chains []Chain
	// Unreadable is the reason why loaded rules could not be read.
	Unreadable error
	// Links are the interfaces by which other hosts reach this one; none if that is not known.
	Links []Link
	// Application is the firewall of macOS, to which the other fields do not apply; nil on other
	// systems.
	Application *Application
}

// manager returns which of the managers that can be turned on has loaded the rules; "" for rules of
// somebody else's.
func (f Facts) manager() string {
	inTable := func(name string) bool {
		return slices.ContainsFunc(f.Chains, func(c Chain) bool { return c.Table == name && c.Input })
	}
	switch {
	case f.Application != nil:
		return ApplicationFirewall
	case inTable(BaselineTable):
		return Nftables
	case inTable(Firewalld) || slices.Contains(f.Managers, Firewalld):
		return Firewalld
	case slices.Contains(f.Managers, UFW):
		return UFW
	default:
		return ""
	}
}

// unread returns the reason why facts are missing, or nil.
func (f Facts) unread() error {
	if f.Application != nil {
		return f.Application.Unreadable
	}
	return f.Unreadable
}

// A Source reads the facts.
type Source interface {
	Firewall(ctx context.Context) Facts
}

// A Status is the verdict.
type Status struct {
	State    string // Active, Disabled or Unknown
	Evidence string // the basis of the verdict, in a few words
}

// Assess evaluates the facts. The rules that the kernel has loaded decide; a manager's own report
// counts only if rules cannot be read. Without either the answer is Unknown, never Disabled.
func Assess(f Facts) Status {
	if f.Application != nil {
		return f.Application.assess()
	}
	found, unclear := f.Filters()
	if len(found) > 0 {
		return Status{Active, evidence(found, f.Unreadable == nil)}
	}
	managed := len(f.Managers) > 0
	switch {
	case f.Unreadable != nil && managed:
		return Status{Active, f.Managers[0] + " is on (its rules " + unread(f.Unreadable, "are ") + ")"}
	case f.Unreadable != nil:
		return Status{Unknown, "the rules " + unread(f.Unreadable, "are ")}
	case unclear != "":
		return Status{Unknown, "the rules that are loaded do not tell whether " + unclear + " filters what comes in"}
	case managed:
		return Status{Disabled, f.Managers[0] + " says it is on, but no rule that filters is loaded"}
	default:
		return Status{Disabled, "no rule that filters what comes in is loaded"}
	}
}

// evidence names the first chain that filters. If all of them are known to see only one address
// family, it says which.
func evidence(found []Chain, complete bool) string {
	c := found[0]
	text := c.title() + " filters what comes in"
	other := func(o Chain) bool { return o.Family != c.Family }
	switch {
	case !complete || slices.ContainsFunc(found, other):
		return text
	case c.Family == "ip":
		return text + ", IPv4 only"
	case c.Family == "ip6":
		return text + ", IPv6 only"
	default:
		return text
	}
}

// unread returns the end of a sentence about unreadable rules.
func unread(err error, are string) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return are + answer.Reason(err)
	case errors.Is(err, context.DeadlineExceeded):
		return answer.Reason(err)
	default:
		return "could not be read: " + answer.Reason(err)
	}
}

// Filters returns the chains that keep ordinary hosts from most ports, and one of which that is not clear, in words.
// Rules about single ports, about packets that begin no connection, or about addresses that are not this host's are
// no firewall.
func (f Facts) Filters() (found []Chain, unclear string) {
	w := newWays(f)
	for i := range f.Chains {
		c := &f.Chains[i]
		if !c.Input || c.Table == OwnTable || !drops(f.Chains, *c, map[string]bool{}) {
			continue
		}
		switch w.shareOf(w.named[c.tableName()], c) {
		case dropped:
			found = append(found, *c)
		case undecided:
			unclear = c.title()
		}
	}
	return found, unclear
}

// title names a chain in a sentence.
func (c Chain) title() string {
	return fmt.Sprintf("chain %s of table %s", c.Name, strings.TrimSpace(c.Family+" "+c.Table))
}

func (c *Chain) policy() Action {
	if c.DropPolicy {
		return Drop
	}
	return Accept
}

// drops reports whether anything in c can be dropped there or in a chain to which c jumps. Each
// chain is visited once: the kernel forbids loops, but not a hundred chains that all jump to the
// next two.
func drops(all []Chain, c Chain, seen map[string]bool) bool {
	if c.Name == OwnChain && c.Table == "filter" {
		return false
	}
	if c.DropPolicy || c.Drops {
		return true
	}
	seen[c.Name] = true
	for _, next := range all {
		jumps := next.Family == c.Family && next.Table == c.Table && slices.Contains(c.Jumps, next.Name)
		if jumps && !seen[next.Name] && drops(all, next, seen) {
			return true
		}
	}
	return false
}
