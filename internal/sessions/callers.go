// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"

	"sentinel/internal/sshserver"
)

// callers are who may have started this run, where no way leads up to a session.
type callers struct {
	*finder
	uids  map[int]bool
	names map[string]bool
	// told is set where a person is among them. Root may be anybody who has become that, and at(1) runs as a
	// service does.
	told   bool
	became func(pid int) bool // whether a process, or one below it, is of such an account or root's
	person func(pid int) bool // or of a person's
	anyone func(pid int) bool // or of anybody's, or has been
}

// callers finds the accounts that this run has come through. Whoever is handed on to a process that
// the first has started leaves none above.
func (f *finder) callers() *callers {
	c := &callers{finder: f, uids: map[int]bool{}, names: map[string]bool{}}
	c.became = f.atOrBelow(func(pid int) bool { return f.is(pid, c.may) })
	c.person = f.atOrBelow(func(pid int) bool { return f.is(pid, func(d Description) bool { return !d.System }) })
	c.anyone = f.atOrBelow(func(pid int) bool {
		return f.describe(pid).Ended || f.is(pid, func(Description) bool { return true })
	})
	for _, u := range f.snapshot.Users {
		c.add(u)
	}
	for _, pid := range f.line {
		d := f.describe(pid)
		c.add(User{d.UID, d.User, d.System})
	}
	c.told = c.told && !slices.ContainsFunc(f.snapshot.Logins, f.handedOn)
	return c
}

func (c *callers) add(u User) {
	if u.UID != 0 {
		c.uids[u.UID], c.names[u.Name] = true, true
		c.told = c.told || !u.System
	}
}

func (c *callers) may(d Description) bool { return d.UID == 0 || c.uids[d.UID] }

// mayLead reports whether this run can come from a session: one of the caller's own accounts or of root,
// or one in which somebody has become that. What an intruder has, who serves himself a terminal or got the
// shell of a service, is none of these. Where nobody tells whose this run is, every login of a person that
// root has seen may be it.
func (c *callers) mayLead(l *login) bool {
	if c.leads(l) {
		return true
	}
	persons := func(pid int) bool { d := c.describe(pid); return !d.System && !d.Ended }
	return !c.told && (l.record != nil || l.trusted && (slices.ContainsFunc(l.members, persons) || slices.ContainsFunc(c.contents(l), c.person)))
}

// leads reports whether what is in a session shows that this run can come from it.
func (c *callers) leads(l *login) bool {
	if r := l.record; l.User == "" && !c.begunByEnded(l) || r != nil && (r.User == "root" || c.names[r.User]) {
		return true
	}
	contents := c.contents(l)
	own := func(pid int) bool { return c.uids[c.describe(pid).UID] }
	if slices.ContainsFunc(l.members, own) || slices.ContainsFunc(contents, c.became) {
		return true
	}
	others := func(pid int) bool { return !c.ofRoot(pid) }
	return l.record == nil && !slices.ContainsFunc(l.members, others) && !slices.ContainsFunc(contents, c.anyone) // a session of root that has no process
}

// begunByEnded reports whether it is not known whose a session is because what it begins with has ended: any user
// has processes that do, at any moment.
func (c *callers) begunByEnded(l *login) bool {
	return slices.ContainsFunc(slices.Concat(l.begins, l.members), func(pid int) bool { return c.describe(pid).Ended })
}

// contents lists the processes that a session begins with: at its terminals, or what its server has started
// for it.
func (f *finder) contents(l *login) []int {
	list := slices.Clone(l.begins)
	if l.record != nil && len(l.sockets) == 0 {
		list = append(list, f.children[l.record.Leader]...)
	}
	for _, pid := range l.members {
		if f.takesLogins(pid, l.ports) {
			continue
		}
		for _, child := range f.children[pid] {
			if !slices.Contains(l.members, child) {
				list = append(list, child)
			}
		}
	}
	return list
}

// atOrBelow returns a function that reports whether a process or one below it is as wanted, and looks at each
// process once. What a run of this program starts is part of that run.
func (f *finder) atOrBelow(want func(pid int) bool) func(pid int) bool {
	known := map[int]bool{}
	var search func(pid int) bool
	search = func(pid int) bool {
		found, met := known[pid]
		if !met {
			known[pid] = false // processes that end meanwhile may leave a circle
			found = want(pid) || !f.describe(pid).OwnRun && slices.ContainsFunc(f.children[pid], search)
			known[pid] = found
		}
		return found
	}
	return search
}

// is reports whether a process is of an account as wanted, and more than a program that lets people become
// that: anybody runs one that lends the rights of an account, and is not that for it. Nor is anybody root for
// having asked this program something, through sudo.
func (f *finder) is(pid int, want func(Description) bool) bool {
	d := f.describe(pid)
	return !d.Ended && !d.OwnRun && want(d) && !d.Lent && !f.letsIn(pid)
}

// entrances are the programs of root that ask who somebody is, beside SSH servers and those that lend the
// rights of another user, such as su.
var entrances = []string{"login", "agetty", "getty", "mingetty", "runuser"}

// letsIn reports whether a process of root's only lets people in, so that it shows nobody to be root.
func (f *finder) letsIn(pid int) bool {
	d := f.describe(pid)
	return d.UID == 0 && (d.Lent || sshserver.Is(d.Program)) || f.entrance(pid)
}

// entrance reports whether a process of root's runs one of the entrances. Root alone has busybox(1) called
// like one.
func (f *finder) entrance(pid int) bool {
	d := f.describe(pid)
	program := d.Program
	if program == "busybox" {
		program = f.processes[pid].Name
	}
	return d.UID == 0 && slices.Contains(entrances, program)
}
