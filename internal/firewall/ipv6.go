// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

// sessionsOverIPv6 returns the sessions that other hosts have come in with by IPv6: the caller's own, and those
// at ports that the system serves. A program of any user can serve others, and is no reason to refuse.
func sessionsOverIPv6(model *sessions.Model, open *OpenPorts) []*sessions.Session {
	var list []*sessions.Session
	for p, claim := range model.Ports {
		for _, s := range claim.Sessions {
			counts := s.Whose == sessions.Own || open.servedBySystem(Port{Number: p.Number, Protocol: p.Protocol})
			if counts && slices.ContainsFunc(s.From, isIPv6) && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, func(a, b *sessions.Session) int { return strings.Compare(a.String(), b.String()) })
	return list
}

func isIPv6(a netip.Addr) bool { return a.Unmap().Is6() }

// withoutIPv6 refuses where the manager shuts out IPv6 and a session uses it. What IPv6 alone leads to is denied
// by the rules then.
func (e *Enabling) withoutIPv6(rules *Rules, open *OpenPorts) error {
	if rules.IPv6.Verdict != Denied {
		return nil
	}
	if len(e.overIPv6) > 0 {
		if err := e.shutOut(sanitize.Text(sessions.Claim{Sessions: e.overIPv6}.String(), 120), rules.IPv6); err != nil {
			return err
		}
	}
	v4, v6 := e.families()
	if v6 {
		e.note += " " + backendName(e.manager.Name()) + " shuts out IPv6: " + rules.IPv6.Rule + "."
	}
	ports, shut := rules.For, rules.IPv6
	rules.For = func(p Port) Ruling {
		if v6 && !v4 || slices.Contains(open.OnlyIPv6, p) {
			return shut
		}
		return ports(p)
	}
	return nil
}

// families reports in which ones this machine has an address for more than the network that it is plugged in at.
func (e *Enabling) families() (v4, v6 bool) {
	for _, l := range e.links {
		for _, a := range l.Addresses {
			v4 = v4 || a.Is4()
			v6 = v6 || a.Is6() && !a.IsLinkLocalUnicast()
		}
	}
	return v4, v6
}

// admitsIPv6 asks the manager again whether it shuts out IPv6, if a session uses that.
func (e *Enabling) admitsIPv6(ctx context.Context) error {
	if len(e.overIPv6) == 0 {
		return nil
	}
	rules, err := e.manager.Rules(ctx)
	if err == nil && rules.IPv6.Verdict == Denied {
		err = errors.New(rules.IPv6.Rule)
	}
	return err
}
