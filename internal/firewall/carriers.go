// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

const (
	// maxCarriers caps how many ports are explained, and maxGaps how many facts are said to
	// be missing.
	maxCarriers = 3
	maxGaps     = 2
)

const (
	// maxServed is at how many ports sessions are let in that programs of one user serve. Who serves
	// terminals at more is no reason to open them, or for a firewall to stay off.
	maxServed = 16
	// maxServedInAll bounds those of all users, and maxAsked where a manager is run once for each.
	maxServedInAll = 256
	maxAsked       = 8
)

// A carrier is a port that open sessions come in at.
type carrier struct {
	port  Port
	claim sessions.Claim
}

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
	e.overIPv6 = sessionsOverIPv6(model, open)
	let, left := e.chosen(model, open)
	for _, c := range let {
		open.Remote = append(open.Remote, c.port)
		why = append(why, fmt.Sprintf("%s carries %s", c.port, c.claim))
	}
	if len(why) > maxCarriers {
		why = append(why[:maxCarriers], fmt.Sprintf("%d more ports carry sessions", len(why)-maxCarriers))
	}
	if len(why) > 0 {
		e.note += sanitize.Text(" "+strings.Join(why, "; ")+".", 500)
	}
	e.note += tooMany(left)
	var unknown []string
	for _, g := range model.Hidden() {
		unknown = append(unknown, g.Why)
	}
	e.missing(append(unknown, model.Unseen...))
	return nil
}

// waysOut lists what the tunnels need by which this machine reaches others, and says so.
func (e *Enabling) waysOut(open OpenPorts) (ports []Port) {
	for _, w := range open.WaysOut {
		if ports = append(ports, w.Port); len(ports) <= maxCarriers && !slices.Contains(open.Remote, w.Port) {
			e.note += fmt.Sprintf(" %s carries the tunnel %s, by which this machine reaches others.", w.Port, sanitize.Text(w.Interface, 15))
		}
	}
	return ports
}

// chosen returns the carriers to let in and those that are left out. What the system serves is let in, and
// what carries the caller's own session, and is told first; the rest up to a bound, by turns.
func (e *Enabling) chosen(model *sessions.Model, open *OpenPorts) (let, left []carrier) {
	var served []carrier
	for p, claim := range model.Ports {
		c := carrier{Port{Number: p.Number, Protocol: p.Protocol}, claim}
		switch {
		case slices.Contains(open.Remote, c.port) || slices.Contains(open.Inside, c.port):
		case c.claim.Whose() == sessions.Own || open.servedBySystem(c.port):
			let = append(let, c)
		case c.comesIn():
			served = append(served, c)
		}
	}
	most := maxServedInAll
	if name := e.manager.Name(); name == UFW || name == Firewalld {
		most = maxAsked
	}
	e.users, left = open.shares(served, most)
	slices.SortFunc(let, compareCarriers)
	return append(let, e.users...), left
}

// unknownUser is the party of those whose user is not known.
const unknownUser = -1

// server is which user listens at a port, as in Servers.
func (o *OpenPorts) server(p Port) int {
	if user, known := o.Servers[p]; known {
		return user
	}
	return unknownUser
}

// servedBySystem reports whether ordinary users have no part in what listens at a port. Tunnels without
// ports are the kernel's.
func (o *OpenPorts) servedBySystem(p Port) bool {
	return p.Number == 0 || o.server(p) == 0
}

// comesIn reports whether anything that a carrier carries is known to come from another host, or may do
// so. Connections that stay on this machine come by loopback, which no firewall here closes. With whom a
// UDP socket talks is not always known.
func (c carrier) comesIn() bool {
	return c.port.Protocol != "tcp" || slices.ContainsFunc(c.claim.Sessions, func(s *sessions.Session) bool { return len(s.From) > 0 })
}

// shares gives each user their ports in turn, so that whoever has many takes none from those who have
// few. What may be the caller's own goes first.
func (o *OpenPorts) shares(list []carrier, most int) (let, left []carrier) {
	nearer := func(a, b carrier) int { return int(b.claim.Whose() - a.claim.Whose()) }
	slices.SortFunc(list, func(a, b carrier) int { return cmp.Or(nearer(a, b), compareCarriers(a, b)) })
	list = answer.InTurn(list, func(c carrier) int { return o.server(c.port) })
	slices.SortStableFunc(list, nearer)
	taken := map[int]int{}
	for _, c := range list {
		user := o.server(c.port)
		if taken[user] < maxServed && len(let) < most {
			let = append(let, c)
			taken[user]++
		} else {
			left = append(left, c)
		}
	}
	return let, left
}

// tooMany says which ports are not let in because there are more than a user's share.
func tooMany(left []carrier) string {
	if len(left) == 0 {
		return ""
	}
	var ports []Port
	for _, c := range left {
		ports = append(ports, c.port)
	}
	return " Programs of users serve sessions at more ports, which are not let in: " + someOf(ports, maxCarriers) + ". Keep those that matter: --keep-open PORT (keep_open)."
}

func compareCarriers(a, b carrier) int {
	return cmp.Or(cmp.Compare(a.port.Number, b.port.Number), cmp.Compare(a.port.Protocol, b.port.Protocol))
}

// missing says what could not be found out about sessions. That is no reason to refuse: what is shut
// out by it comes back when the trial ends.
func (e *Enabling) missing(texts []string) {
	if texts = texts[:min(len(texts), maxGaps)]; len(texts) > 0 {
		e.note += sanitize.Text(" Not all that carries sessions is known: "+strings.Join(texts, "; ")+".", 400)
	}
}
