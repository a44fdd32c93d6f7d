// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
)

func firewallChecks() []check {
	return []check{
		{About: audit.About{
			ID: "firewall.active", Name: "Firewall", Severity: audit.High, Weight: 10,
			Reference:   "CIS 4.1.1, Lynis FIRE-4590",
			Description: "Without a packet filter every service that listens can be reached by everyone on the network.",
			Formula:     "PASS when rules that keep ordinary hosts from most ports are loaded, by the same reading as firewall_status. FAIL when none are; rules about single ports, or packets that begin no connection, are no firewall. Skipped when they cannot be read, which takes root, and when they do not tell.",
		}, Run: firewallActive},
		{About: audit.About{
			ID: "firewall.default_deny", Name: "Firewall default policy", Severity: audit.Medium, Weight: 6,
			Reference:   "CIS 4.2.7, CIS 4.3.8, Lynis FIRE-4508",
			Description: "A filter that lets in what no rule names protects only against what somebody thought of.",
			Formula:     "PASS when a chain that sees what comes in has the policy drop, for IPv4 and for IPv6. WARN when IPv4 or IPv6 has none. Skipped without root, and when no filter is loaded at all.",
		}, Run: firewallDefaultDeny},
	}
}

const enableFirewall = "See what it would close, then leave out --dry-run: sudo sentinel --fix-firewall --dry-run"

func firewallActive(ctx context.Context, m *machine) audit.Finding {
	if m.Firewall == nil {
		return audit.Unread("packet filter", errNotLive)
	}
	s := firewall.Assess(m.Firewall.Firewall(ctx))
	switch s.State {
	case firewall.Active:
		return audit.Passed("Active: " + s.Evidence)
	case firewall.Disabled:
		return audit.Failed("Disabled", enableFirewall, s.Evidence)
	default:
		return audit.Unseen(s.Evidence)
	}
}

const defaultDeny = "Drop what no rule lets in: set the policy of the chain to drop once a rule lets you in."

// firewallDefaultDeny goes by the policy of the chains. A chain that accepts by
// policy may still drop by its last rule: then there is no verdict.
func firewallDefaultDeny(ctx context.Context, m *machine) audit.Finding {
	if m.Firewall == nil {
		return audit.Unread("packet filter", errNotLive)
	}
	facts := m.Firewall.Firewall(ctx)
	s := firewall.Assess(facts)
	if s.State == firewall.Disabled {
		return audit.NotApplicable("no filter is loaded")
	}
	if facts.Unreadable != nil {
		return audit.Unread("rules of the packet filter", facts.Unreadable)
	}
	if s.State == firewall.Unknown {
		return audit.Unseen(s.Evidence)
	}
	open, undecided := m.letsInByDefault(facts)
	switch {
	case len(open) == 0:
		return audit.Passed("What no rule lets in is dropped")
	case undecided != "":
		return audit.Unseen("the chain " + undecided + " accepts by policy; whether its last rule drops the rest is not read")
	default:
		return audit.Warned("What no rule names is let in over "+strings.Join(open, " and "), defaultDeny, s.Evidence)
	}
}

// letsInByDefault returns the protocols for which no chain has the policy drop,
// and the name of a chain that may drop the rest by a rule of its own.
func (m *machine) letsInByDefault(facts firewall.Facts) (open []string, undecided string) {
	filters, _ := facts.Filters()
	for _, p := range []struct{ name, family string }{{"IPv4", "ip"}, {"IPv6", "ip6"}} {
		if p.family == "ip6" && !m.exists("/proc/net/if_inet6") {
			continue
		}
		denied := false
		for _, c := range filters {
			if c.Family == p.family || c.Family == "inet" || c.Family == "netdev" {
				denied = denied || c.DropPolicy || m.firewalldDenies(c, facts.Chains)
				if !c.DropPolicy {
					undecided = c.Table + " " + c.Name
				}
			}
		}
		if !denied {
			open = append(open, p.name)
		}
	}
	return open, undecided
}
