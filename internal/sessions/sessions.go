// SPDX-License-Identifier: Apache-2.0

// Package sessions answers one question for all who change the machine: what carries the sessions
// of the people who are logged in? It starts from logins (terminals and what root has recorded of
// them), goes up to the processes that serve them, and from the sockets of these on to addresses,
// processes, units and ports: through proxies and reverse tunnels on this machine, and through
// tunnels of the network.
//
// Names prove nothing, since anyone may choose them. What an ordinary user can pretend, and what
// that is worth, is in the threat model.
package sessions

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// Ownership says whether a session is the one that this run was started from.
type Ownership int

// A caller without a way up to any session, such as a job of cron or a process that was detached,
// may be anybody's.
const (
	Others Ownership = iota
	PossiblyOwn
	Own
)

// A Session is a login that is under way.
type Session struct {
	User     string       // empty if unknown
	From     []netip.Addr // other hosts that it comes from; empty for a local one and where they are not known
	Since    time.Time    // zero if unknown
	Terminal string       // such as pts/0; empty without one
	Local    bool         // at a terminal of the machine itself
	Prompt   bool         // nobody has logged in; only of a claim of what takes logins
	// Outside is set for connections of programs outside of the container that this run is in, of which
	// nothing more is known.
	Outside bool
	// Among is how many hosts talk with a proxy of the session that does not show which of them it
	// comes from; 0 where that is known. From has them all.
	Among int
	Whose Ownership
}

// A Port is a port of this machine.
type Port struct {
	Protocol string // tcp or udp
	Number   uint16
}

// A Claim says whose sessions something carries.
type Claim struct {
	Sessions []*Session // never empty
	// How it carries them, as in "through haproxy (PID 12)"; empty for directly.
	How string
	// Among is set for an address where that is one of so many hosts behind a proxy, of which one is the
	// other end.
	Among int
	// Listens is set for a process that takes new logins of that kind and carries none that is open.
	Listens bool
	// Untrusted is set with Listens for a process that anybody may have made, in any number, to be let alone:
	// an ordinary user's who is not the caller, or that of a service which is not known to have let somebody in.
	Untrusted bool
	// Shown are those of the sessions in which a server of terminals is shown, and of which it is no part: what is
	// done at its terminals ends with it, and they go on.
	Shown []*Session
}

// EndsOwn reports whether the caller's own session, or what may be that, is lost with what carries it.
func (c Claim) EndsOwn() bool {
	return !c.Listens && slices.ContainsFunc(c.Sessions, func(s *Session) bool {
		return s.Whose != Others && !slices.Contains(c.Shown, s)
	})
}

// Apart reports whether it is no part of any of the sessions.
func (c Claim) Apart() bool { return len(c.Shown) == len(c.Sessions) }

// With is the claim of what ends together with another.
func (c Claim) With(other Claim) Claim {
	c.Sessions, c.Shown = slices.Clone(c.Sessions), slices.Clone(c.Shown)
	for _, s := range other.Sessions {
		shown := slices.Contains(other.Shown, s)
		switch {
		case !slices.Contains(c.Sessions, s):
			c.Sessions = append(c.Sessions, s)
			if shown {
				c.Shown = append(c.Shown, s)
			}
		case !shown:
			c.Shown = slices.DeleteFunc(c.Shown, func(known *Session) bool { return known == s })
		}
	}
	return c
}

// Whose returns Own if one of the sessions is that.
func (c Claim) Whose() Ownership {
	most := Others
	for _, s := range c.Sessions {
		most = max(most, s.Whose)
	}
	return most
}

// maxNamed bounds how many sessions a sentence names.
const maxNamed = 3

// String names the sessions, the caller's own first, so that it can end a sentence such as
// "203.0.113.7 carries ...".
func (c Claim) String() string {
	text := c.names()
	if c.How != "" {
		text += ", " + c.How
	}
	return text
}

// Carrying says what a process or a unit is to the sessions, a clause: "it carries ...".
func (c Claim) Carrying() string {
	switch {
	case c.Listens:
		return "people log in through it, as in " + c.String()
	case c.Apart():
		return "it serves terminals that are shown in " + c.String()
	}
	return "it carries " + c.String()
}

// AsPeer says what an address is to the sessions, to end the sentence "203.0.113.7 is ...".
func (c Claim) AsPeer() string {
	if c.Among == 0 {
		return "the other end of " + c.String()
	}
	return fmt.Sprintf("one of those connected %s, and the sockets of this machine do not tell which of them is the other end of %s", c.How, c.names())
}

func (c Claim) names() string {
	sorted := c.sorted()
	var names []string
	for _, s := range sorted[:min(len(sorted), maxNamed)] {
		names = append(names, s.String())
	}
	if more := len(sorted) - len(names); more > 0 {
		names = append(names, humanize.Count(more, "more session", "more sessions"))
	}
	return strings.Join(names, " and ")
}

// String describes the session: "the session of ann from 203.0.113.7 at pts/0, since ...".
func (s *Session) String() string {
	text := "the session"
	switch s.Whose {
	case Own:
		text = "this call's own session"
	case PossiblyOwn, Others:
	}
	if s.Prompt {
		text = "the login prompt"
	}
	if s.Outside {
		text += " of a program outside of this container"
	}
	if s.User != "" {
		text += " of " + sanitize.Text(s.User, 32)
	}
	if s.Among > 0 {
		text += fmt.Sprintf(" from one of %d hosts", s.Among)
	}
	for i, a := range s.From {
		switch {
		case s.Among > 0:
		case i == 0:
			text += " from " + a.String()
		case i < maxNamed:
			text += ", " + a.String()
		case i == maxNamed:
			text += fmt.Sprintf(" and %d more", len(s.From)-i)
		}
	}
	if s.Terminal != "" {
		text += " at " + sanitize.Text(s.Terminal, 32)
	}
	if !s.Since.IsZero() {
		text += " since " + humanize.Moment(s.Since)
	}
	if s.Whose == PossiblyOwn {
		text += " (which may be this call's own)"
	}
	return text
}

// sorted has the caller's own sessions first, and those of other users in turn: who logs in often hides none
// of somebody else.
func (c Claim) sorted() []*Session {
	list := answer.InTurn(c.Sessions, func(s *Session) string { return s.User })
	slices.SortStableFunc(list, func(a, b *Session) int { return int(b.Whose) - int(a.Whose) })
	return list
}

// Bounds of what is told as data.
const (
	maxData     = 10
	maxDataFrom = 5
)

// Data returns the sessions as data, the caller's own first.
func (c Claim) Data() *fault.Protected {
	n := &fault.Protected{Sessions: []fault.Session{}, Total: len(c.Sessions), Through: c.How}
	for _, s := range c.sorted()[:min(len(c.Sessions), maxData)] {
		n.Sessions = append(n.Sessions, s.data())
	}
	return n
}

func (s *Session) data() fault.Session {
	d := fault.Session{
		User: sanitize.Text(s.User, 32), From: []string{}, Terminal: sanitize.Text(s.Terminal, 32), Local: s.Local,
		Whose: []string{Others: "others", PossiblyOwn: "possibly_own", Own: "own"}[s.Whose],
	}
	if !s.Since.IsZero() {
		d.Since = s.Since.UTC().Format(time.RFC3339)
	}
	for _, a := range s.From[:min(len(s.From), maxDataFrom)] {
		d.From = append(d.From, a.String())
	}
	return d
}

// A Gap is something about a session that could not be found out.
type Gap struct {
	Why string // a clause: "with whom moshd (PID 12) talks is not seen"
	// Whose is the most that the gap may hide.
	Whose Ownership
	// Trusted is set when a login that root has seen is concerned, and not only what a user says: the caller's
	// own, or one of their accounts or of root. Others make gaps as they like, by logging in from this machine.
	Trusted bool
	// Skipped is set where it is hidden by what was not looked at for a bound; nil where that would not help.
	Skipped *SkippedError
}

// A SkippedError says that more is open than is read, so that any process which was not looked at may carry a
// session.
type SkippedError struct {
	// Users are the accounts that have reached a bound of their own. What is missing of others is none of their doing.
	Users []int
	Err   error
}

// Error implements error.
func (e *SkippedError) Error() string { return e.Err.Error() }

// Unwrap returns which bound it was.
func (e *SkippedError) Unwrap() error { return e.Err }

// A Model is what carries the sessions of this machine at one moment.
type Model struct {
	Sessions  []*Session
	Addresses map[netip.Addr]Claim // of other hosts, without zones and never IPv4-mapped
	Processes map[int]Claim
	Units     map[string]Claim // of the system's service manager: services, sockets and scopes
	Ports     map[Port]Claim   // of this machine, that the sessions come in at
	Gaps      []Gap
	Unseen    []string // clauses about sessions of which not all is known, which is no reason to refuse anything
	// Connections are those that carry sessions to other hosts.
	Connections []Connection
}

// A Connection of a session to another host.
type Connection struct{ Local, Remote netip.Addr }

// Carries reports whether it is known of a process whose sessions end with it.
func (m *Model) Carries(pid int) bool {
	claim, known := m.Processes[pid]
	return known && !claim.Listens && !claim.Apart()
}

// Hides says why a process of an account of the system may carry the caller's own session though no claim says so, a
// clause; empty if it does not. Who has reached a bound of their own may end all that is theirs, so that hiding protects
// no intruder. Root of a container, contained, is one of those.
func (m *Model) Hides(uid int, contained bool) string {
	for _, g := range m.Hidden() {
		if g.Skipped != nil && (uid == 0 && !contained || !slices.Contains(g.Skipped.Users, uid)) {
			return g.Why
		}
	}
	return ""
}

// Hidden returns the gaps that may hide something of sessions that are surely, or where root has
// seen the login possibly, the caller's own.
func (m *Model) Hidden() []Gap {
	var list []Gap
	for _, g := range m.Gaps {
		if g.Whose == Own || g.Whose == PossiblyOwn && g.Trusted {
			list = append(list, g)
		}
	}
	return list
}
