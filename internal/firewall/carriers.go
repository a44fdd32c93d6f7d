// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

const (
	// maxCarriers caps how many ports are explained, and maxGaps how many facts are said to
	// be missing.
	maxCarriers = 3
	maxGaps     = 2
)

// carriers adds the ports that open sessions come in at, whoever serves them: a proxy, a tunnel, the
// server of another protocol than SSH. They are let in beside those that sessions to come need.
func (e *Enabling) carriers(ctx context.Context, find func(context.Context) (*sessions.Model, error), open *OpenPorts) error {
	if find == nil {
		return nil
	}
	model, err := find(ctx)
	if err != nil {
		return fmt.Errorf("find what carries the sessions: %w", err)
	}
	var why []string
	for _, p := range slices.SortedFunc(maps.Keys(model.Ports), compareCarriers) {
		port := Port{Number: p.Number, Protocol: p.Protocol}
		if slices.Contains(open.Remote, port) || slices.Contains(open.Inside, port) {
			continue
		}
		open.Remote = append(open.Remote, port)
		why = append(why, fmt.Sprintf("%s carries %s", port, model.Ports[p]))
	}
	if len(why) > maxCarriers {
		why = append(why[:maxCarriers], fmt.Sprintf("%d more ports carry sessions", len(why)-maxCarriers))
	}
	if len(why) > 0 {
		e.note += sanitize.Text(" "+strings.Join(why, "; ")+".", 500)
	}
	var unknown []string
	for _, g := range model.Hidden() {
		unknown = append(unknown, g.Why)
	}
	e.missing(append(unknown, model.Unseen...))
	return nil
}

func compareCarriers(a, b sessions.Port) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
}

// missing says what could not be found out about sessions. That is no reason to refuse: what is shut
// out by it comes back when the trial ends.
func (e *Enabling) missing(texts []string) {
	if texts = texts[:min(len(texts), maxGaps)]; len(texts) > 0 {
		e.note += sanitize.Text(" Not all that carries sessions is known: "+strings.Join(texts, "; ")+".", 400)
	}
}

// portless are the protocols of tunnels that have no ports, by the names that ufw(8),
// firewall-cmd(1) and /etc/protocols have for them, with their numbers.
var portless = map[string]uint8{"gre": 47, "esp": 50, "ah": 51, "ipencap": 4, "ipv6": 41}

// ProtocolNumber is the number of the protocol of a tunnel without ports; 0 for what has ports.
func (p Port) ProtocolNumber() uint8 {
	if p.Number != 0 {
		return 0
	}
	return portless[p.Protocol]
}

// ParseOpening parses the form of [Port.String] for a port or a protocol without ports.
func ParseOpening(text string) (Port, error) {
	if _, ok := portless[text]; ok {
		return Port{Protocol: text}, nil
	}
	return ParsePort(text)
}

// letIn decides about the protocols without ports. Sentinel's own rules let them in; what ufw and
// firewalld do with them is not read, so a session that depends on one is a reason to refuse, unless
// a rule of the owner names it.
func (e *Enabling) letIn(rules Rules) error {
	for _, p := range e.remotePorts {
		if p.ProtocolNumber() == 0 || e.manager.Name() == Nftables {
			continue
		}
		named := slices.ContainsFunc(rules.Unread, func(text string) bool { return slices.Contains(strings.Fields(text), p.Protocol) })
		e.ports = slices.DeleteFunc(e.ports, func(o Port) bool { return o == p })
		if named {
			continue
		}
		said := fmt.Sprintf("%s shuts out the protocol %s, in which the tunnel of a session travels.", e.manager.Name(), p.Protocol)
		if !e.force {
			return fault.New(fault.FirewallFailed, "Once it is on, "+said).
				WithFix("Let it in first: " + allowProtocol(e.manager.Name(), p.Protocol) + " Or at a console of the machine run: sudo sentinel --fix-firewall --force")
		}
		e.note += " As its rules stand, " + said
	}
	return nil
}

func allowProtocol(manager, protocol string) string {
	if manager == UFW {
		return "sudo ufw allow proto " + protocol + " to any."
	}
	return "sudo firewall-cmd --permanent --add-protocol=" + protocol + " (while it is off: sudo firewall-offline-cmd --add-protocol=" + protocol + ")."
}
