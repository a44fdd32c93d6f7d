// SPDX-License-Identifier: Apache-2.0

package sessions

import "slices"

// A prompt is a terminal that somebody is connected to who has not logged in.
type prompt struct {
	seed
	chain
}

// awaitsPerson reports whether nobody has logged in at a terminal: what runs there are programs of root
// that ask who somebody is, and nothing has recorded a login. As with SSH, whoever tries passwords could
// not be blocked otherwise, being connected almost all the time.
func (f *finder) awaitsPerson(s seed, record *Login) bool {
	return s.terminal != "" && record == nil && f.describe(s.pid).Login == "" && !slices.ContainsFunc(f.some(s.pid), f.goesOn)
}

// goesOn reports whether a process shows that somebody has got in: one that runs, and does more than let people in.
func (f *finder) goesOn(pid int) bool { return !f.describe(pid).Ended && !f.letsIn(pid) }

// findPrompts adds the servers of such terminals that take connections, since people log in through them.
func (f *finder) findPrompts() {
	for _, p := range f.prompts {
		at := Claim{Sessions: []*Session{{Terminal: p.terminal, Prompt: true}}}
		f.vouched[at.Sessions[0]] = p.trusted
		for _, pid := range f.withAncestors(p.members) {
			if f.takesLogins(pid, p.ports) {
				f.listens(pid, at)
			}
		}
	}
}
