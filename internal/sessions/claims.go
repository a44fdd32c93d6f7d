// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// finish sorts the answer.
func (f *finder) finish() {
	var doubts []string
	for _, l := range f.logins {
		slices.SortFunc(l.From, netip.Addr.Compare)
		l.From = slices.Compact(l.From)
		for _, why := range l.gaps {
			g := Gap{Why: why + ", which carries " + l.String(), Whose: l.Whose, Trusted: l.trusted && l.likely, Skipped: l.skipped}
			if f.model.Gaps = append(f.model.Gaps, g); g.Whose == PossiblyOwn && !g.Trusted {
				doubts = append(doubts, g.Why)
			}
		}
		f.model.Sessions = append(f.model.Sessions, l.Session)
	}
	f.note(doubts)
	slices.SortStableFunc(f.model.Sessions, func(a, b *Session) int { return cmp.Or(int(b.Whose-a.Whose), a.Since.Compare(b.Since)) })
}

// note says what is not known of sessions that hold nobody up: users make as much of it as they like.
func (f *finder) note(doubts []string) {
	if len(doubts) == 0 {
		return
	}
	text := strings.Join(doubts[:min(len(doubts), maxNamed)], "; ")
	if more := len(doubts) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and so for %d more", more)
	}
	f.model.Unseen = append(f.model.Unseen, text)
}

// claim adds a session to what something carries.
func claim[K comparable](to map[K]Claim, key K, s *Session, how string) {
	c, known := to[key]
	if !known || c.Listens || c.How != "" && how == "" {
		c.How = how
	}
	c.Listens, c.Untrusted = false, false
	c.Shown = slices.DeleteFunc(c.Shown, func(shown *Session) bool { return shown == s })
	if !slices.Contains(c.Sessions, s) {
		c.Sessions = append(c.Sessions, s)
	}
	to[key] = c
}

// claimProcess adds a process and its unit.
func (f *finder) claimProcess(pid int, s *Session, how string) {
	claim(f.model.Processes, pid, s, how)
	if unit := f.describe(pid).Unit; unit != "" {
		claim(f.model.Units, unit, s, how)
	}
}

// findListeners finds the servers that take new logins at the ports that sessions came in at.
func (f *finder) findListeners() {
	var open []Socket
	above := make(map[*Session][]int, len(f.logins))
	for _, l := range f.logins {
		above[l.Session] = f.withAncestors(l.members)
		f.vouched[l.Session] = l.trusted
	}
	for port, c := range f.model.Ports {
		if !f.listenerAbove(port, c, above) {
			open = append(open, f.listening[place{port: port}]...)
		}
	}
	if len(open) == 0 {
		return
	}
	slices.SortFunc(open, func(a, b Socket) int { return cmp.Compare(a.ID, b.ID) })
	holders, err := f.source.Holders(f.ctx, open[:min(len(open), maxSockets)])
	if err != nil {
		f.model.Gaps = append(f.model.Gaps, Gap{Why: fmt.Sprintf("which programs take new logins is not all known (%v)", err)})
	}
	for _, k := range open {
		for _, pid := range holders[k.ID] {
			f.listens(pid, f.model.Ports[portOf(k)])
		}
	}
}

// listenerAbove looks for the server at a port where it mostly is: above what it started, or the
// service manager.
func (f *finder) listenerAbove(port Port, c Claim, above map[*Session][]int) (found bool) {
	candidates := map[int]bool{1: true}
	for _, s := range c.Sessions {
		for _, pid := range above[s] {
			candidates[pid] = true
		}
	}
	for pid := range candidates {
		if f.servesAt(pid, port) {
			f.listens(pid, c)
			found = true
		}
	}
	return found
}

// listens adds a server that carries no open session.
func (f *finder) listens(pid int, at Claim) {
	if pid == 1 {
		return
	}
	c := Claim{Sessions: at.Sessions, How: at.How, Listens: true, Untrusted: !f.mayListen(pid, at)}
	if _, carries := f.model.Processes[pid]; !carries {
		f.model.Processes[pid] = c
	}
	if unit := f.describe(pid).Unit; unit != "" {
		if _, carries := f.model.Units[unit]; !carries {
			f.model.Units[unit] = c
		}
	}
}

// mayListen reports whether a process is one that people log in through, and none that was made to be taken for
// one: whoever has somebody connected to a server of theirs has as many processes hold its socket as they like.
func (f *finder) mayListen(pid int, at Claim) bool {
	trusted := func(s *Session) bool { return f.vouched[s] }
	return f.ofRoot(pid) || f.callerUIDs[f.describe(pid).UID] || f.ofSystem(pid) && slices.ContainsFunc(at.Sessions, trusted)
}
