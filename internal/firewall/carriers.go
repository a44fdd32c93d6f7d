// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

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

// chosen returns the carriers to let in, in order, and those that are left out. What the system serves
// is let in, and what carries the caller's own session; the rest up to a bound.
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
	e.users, left = shares(served, open.Servers, most)
	let = append(let, e.users...)
	slices.SortFunc(let, compareCarriers)
	slices.SortFunc(left, compareCarriers)
	return let, left
}

// servedBySystem reports whether ordinary users have no part in what listens at a port. Tunnels without
// ports are the kernel's.
func (o *OpenPorts) servedBySystem(p Port) bool {
	user, known := o.Servers[p]
	return p.Number == 0 || known && user == 0
}

// comesIn reports whether anything that a carrier carries is known to come from another host, or may do
// so. Connections that stay on this machine come by loopback, which no firewall here closes. With whom a
// UDP socket talks is not always known.
func (c carrier) comesIn() bool {
	return c.port.Protocol != "tcp" || slices.ContainsFunc(c.claim.Sessions, func(s *sessions.Session) bool { return len(s.From) > 0 })
}

// shares gives each user their ports in turn, so that whoever has many takes none from those who have
// few. What may be the caller's own goes first.
func shares(list []carrier, servers map[Port]int, most int) (let, left []carrier) {
	slices.SortFunc(list, func(a, b carrier) int { return cmp.Or(int(b.claim.Whose()-a.claim.Whose()), compareCarriers(a, b)) })
	taken, turn := map[int]int{}, map[Port]int{}
	for _, c := range list {
		user, known := servers[c.port]
		if !known {
			user = -1
		}
		turn[c.port] = taken[user]
		taken[user]++
	}
	slices.SortStableFunc(list, func(a, b carrier) int {
		return cmp.Or(int(b.claim.Whose()-a.claim.Whose()), turn[a.port]-turn[b.port])
	})
	for _, c := range list {
		if turn[c.port] < maxServed && len(let) < most {
			let = append(let, c)
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
