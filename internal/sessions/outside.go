// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	"sentinel/internal/sshserver"
)

// remember keeps a process with a terminal whose session begins elsewhere: it lives in another namespace
// than this run, or what serves its terminal does. With whom that is connected is not among the sockets
// that this run sees.
func (f *finder) remember(s seed) {
	unserved := f.snapshot.Nested && f.snapshot.Masters && !slices.ContainsFunc(f.ancestry(s.pid), f.holdsMaster(s.terminal)) && f.serverOf(s.terminal, s.pid) == 0
	if s.terminal != "" && (unserved || f.describe(s.pid).Elsewhere) {
		f.isUnseen(s.pid)
	}
}

// isUnseen keeps a process whose session begins elsewhere, and what is above it: who is to be found by
// that would be looked for once for each.
func (f *finder) isUnseen(pid int) {
	f.unseen = append(f.unseen, pid)
	for p, ok := f.processes[pid]; ok && !f.aboveUnseen[p.PID]; p, ok = f.processes[p.Parent] {
		f.aboveUnseen[p.PID] = true
	}
}

// rememberServers adds SSH servers that live elsewhere, which have sessions without a terminal, too. Of
// each connection the first process is taken, and none where a terminal below it is.
func (f *finder) rememberServers() {
	for _, p := range f.snapshot.Processes {
		if f.ctx.Err() != nil {
			return
		}
		parent := f.processes[p.Parent]
		first := sshserver.Is(p.Name) && sshserver.Is(parent.Name) && !sshserver.Is(f.processes[parent.Parent].Name)
		if !first || f.awaitsLogin(p.PID) || !f.describe(p.PID).Elsewhere {
			continue
		}
		known := func(id SocketID) bool { k := f.sockets[id]; return k.Protocol == "tcp" && !f.contained(k.Space) }
		if !f.aboveUnseen[p.PID] && !slices.ContainsFunc(f.open(p.PID).Sockets, known) {
			f.isUnseen(p.PID)
		}
	}
}

// noteUnseen says whose other ends are not seen. It says nothing of this run's own session: the way up
// from this run leads into the namespaces that its ancestors live in.
func (f *finder) noteUnseen() {
	if len(f.unseen) == 0 {
		return
	}
	var names []string
	for _, pid := range f.unseen[:min(len(f.unseen), maxNamed)] {
		d := f.describe(pid)
		name := f.name(pid)
		if p := f.processes[pid]; p.Terminal != "" {
			name += " at " + sanitize.Text(p.Terminal, 32)
		}
		if unit := cmp.Or(d.Unit, d.User); unit != "" {
			name += " of " + sanitize.Text(unit, 48)
		}
		names = append(names, name)
	}
	if more := len(f.unseen) - len(names); more > 0 {
		names = append(names, humanize.Count(more, "other program", "other programs"))
	}
	f.model.Unseen = append(f.model.Unseen, "with whom "+strings.Join(names, ", ")+" "+plural(len(f.unseen), "is", "are")+
		" connected is not seen from here, since that is in another container or network namespace")
}

// claimUnseen has what serves such a session of an SSH server of root, and what it ends with in that container, carry it.
// It is one of others, which end_session ends: whoever makes a namespace chooses what is in it, and must not make that
// impossible to end. Their addresses are not known, and their units may be those of anything.
func (f *finder) claimUnseen() {
	for _, pid := range f.unseen {
		elsewhere := slices.DeleteFunc(f.ancestry(pid), func(pid int) bool { return !f.describe(pid).Elsewhere })
		if !slices.ContainsFunc(elsewhere, f.rootsServer) {
			continue
		}
		s := &Session{User: f.user(seed{pid: pid}, nil), Terminal: f.processes[pid].Terminal}
		for _, part := range elsewhere {
			f.claimElsewhere(part, s)
		}
	}
}

func (f *finder) rootsServer(pid int) bool {
	return sshserver.Is(f.processes[pid].Name) && f.ofRoot(pid)
}

// claimElsewhere adds a session to what a process carries, or takes logins as, where nothing else is known of it.
func (f *finder) claimElsewhere(pid int, s *Session) {
	const how = "in another container or network namespace"
	c, known := f.model.Processes[pid]
	if known && c.How != how || len(c.Sessions) >= maxAttached {
		return
	}
	listens := f.rootsServer(pid) && !sshserver.Is(f.processes[f.processes[pid].Parent].Name)
	f.model.Processes[pid] = Claim{Sessions: append(c.Sessions, s), How: how, Listens: listens, Untrusted: listens}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// outsiders protects who is connected with processes that this run does not see, because it is in a
// container that has the network of what is around it: any of them may be where it was started from.
// Only what came in at a port that listens counts, and all of it is one session, since nothing here tells
// more.
func (f *finder) outsiders() {
	if !f.snapshot.Nested {
		return
	}
	var came []Socket
	for _, k := range f.sockets {
		if k.Space == 0 && k.Protocol == "tcp" && k.Established && k.Remote.Port() != 0 && !f.inside(k) && f.accepted(k) {
			came = append(came, k)
		}
	}
	if len(came) == 0 {
		return
	}
	slices.SortFunc(came, func(a, b Socket) int { return cmp.Compare(a.ID, b.ID) })
	holders, err := f.source.Holders(f.ctx, came)
	came = slices.DeleteFunc(came, func(k Socket) bool { return len(holders[k.ID]) > 0 })
	if len(came) == 0 {
		return
	}
	s := &Session{Outside: true, Whose: PossiblyOwn}
	if f.ownKnown() {
		s.Whose = Others
	}
	for _, k := range came {
		if _, known := f.model.Addresses[k.Remote.Addr()]; !known {
			s.From = append(s.From, k.Remote.Addr())
		}
		claim(f.model.Addresses, k.Remote.Addr(), s, "")
		claim(f.model.Ports, portOf(k), s, "")
	}
	f.model.Sessions = append(f.model.Sessions, s)
	why := "it is not seen whose " + humanize.Count(len(came), "connection of another host is", "connections of other hosts are") + ", since their programs are outside of this container"
	if err != nil {
		why += fmt.Sprintf(", or could not be looked at (%v)", err)
	}
	f.model.Unseen = append(f.model.Unseen, why)
}
