// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"maps"
	"slices"
)

const (
	// maxAttached bounds how many sessions one server of terminals is taken to carry, the caller's own first, and
	// maxCarrying how many servers carry one session: users make as many of both as they like.
	maxAttached = 16
	maxCarrying = 64
)

// lastServer returns the last of a line of processes that serves a terminal; 0 for none. Programs within what
// it serves, such as sudo, serve others.
func (f *finder) lastServer(line []int) int {
	for _, pid := range slices.Backward(line) {
		if len(f.open(pid).Masters) > 0 {
			return pid
		}
	}
	return 0
}

// A screen is a terminal that a server of an account draws on.
type screen struct {
	terminal string
	uid      int
}

// attach has servers of terminals that no connection leads up to (tmux, screen) carry the sessions of who is
// attached. Such a server leaves the session that it was started in, and has the terminal of who is attached open
// for just as long. It does not change whose a session is: anybody of that account may have been attached since this
// run began.
func (f *finder) attach() {
	drawn := map[screen][]int{}
	for _, server := range slices.Sorted(maps.Keys(f.apart)) {
		d := f.describe(server)
		if d.Lent || d.Ended || d.Elsewhere { // the terminals of a container have numbers of their own
			continue
		}
		for _, terminal := range f.open(server).Terminals {
			at := screen{terminal, d.UID}
			drawn[at] = append(drawn[at], server)
		}
	}
	if len(drawn) == 0 {
		return
	}
	for _, l := range f.logins {
		f.attached(l, drawn)
	}
}

// attached adds the servers that somebody is attached to from a session, and from terminals of those servers.
func (f *finder) attached(l *login, drawn map[screen][]int) {
	met := map[int]bool{}
	for queue := slices.Clone(l.begins); len(queue) > 0; queue = queue[1:] {
		for _, server := range f.drawnBy(queue[0], drawn) {
			if met[server] || len(met) >= maxCarrying || len(f.model.Processes[server].Sessions) >= maxAttached {
				continue
			}
			met[server] = true
			f.claimApart(server, l.Session)
			queue = append(queue, f.apart[server]...)
		}
	}
}

// claimApart adds a server and its unit.
func (f *finder) claimApart(server int, s *Session) {
	claimApart(f.model.Processes, server, s)
	if unit := f.describe(server).Unit; unit != "" {
		claimApart(f.model.Units, unit, s)
	}
}

func claimApart[K comparable](to map[K]Claim, key K, s *Session) {
	before := to[key]
	if slices.Contains(before.Sessions, s) {
		return
	}
	claim(to, key, s, before.How)
	now := to[key]
	now.Shown = append(now.Shown, s)
	to[key] = now
}

// drawnBy lists the servers that draw on the terminal which a process leads: those of whoever is logged in
// there, and those of root where root is there, too. What somebody has become in the session of another may be an
// intruder, who must not make that session be theirs.
func (f *finder) drawnBy(first int, drawn map[screen][]int) (servers []int) {
	terminal, d := f.processes[first].Terminal, f.describe(first)
	if d.Elsewhere {
		return nil
	}
	if list := drawn[screen{terminal, 0}]; len(list) > 0 && f.rootIsAt(first) {
		servers = append(servers, list...)
	}
	if list := drawn[screen{terminal, d.UID}]; d.UID != 0 && len(list) > 0 && f.aloneAbove(first, d.UID) {
		servers = append(servers, list...)
	}
	return servers
}

// rootIsAt reports whether root does something at the terminal that a process leads.
func (f *finder) rootIsAt(first int) bool {
	return slices.ContainsFunc(f.some(first), func(pid int) bool {
		return f.processes[pid].Terminal == f.processes[first].Terminal && f.is(pid, func(d Description) bool { return d.UID == 0 })
	})
}

// aloneAbove reports whether all that is at a terminal, from a process up, is of an account, but for what asked
// who somebody is.
func (f *finder) aloneAbove(first, uid int) bool {
	return !slices.ContainsFunc(f.ancestry(first), func(pid int) bool {
		return f.processes[pid].Terminal != "" && f.describe(pid).UID != uid && !f.entrance(pid)
	})
}
