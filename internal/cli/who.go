// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"strconv"

	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
)

// maxName is the longest name of a user that is recorded, in runes.
const maxName = 64

// whoAsks returns on whose behalf this run acts: the user who started it and,
// behind sudo, the user who ran sudo.
func (p Program) whoAsks(c ops.Context) journal.Who {
	w := journal.Who{UID: p.UID, User: "uid " + strconv.Itoa(p.UID), Caller: sanitize.Text(c.Caller, maxName)}
	w.Asked = agreedText(c.Asked, w.Caller)
	if p.UID == 0 {
		w.User = "root"
	}
	if !p.Root || p.Getenv == nil {
		return w
	}
	if uid, user, ok := privilege.SudoUser(p.Getenv); ok {
		w.SudoUID, w.SudoUser = &uid, sanitize.Text(user, maxName)
	}
	return w
}

// agreedText says who agreed to a change, as the journal keeps it.
func agreedText(asked, caller string) string {
	switch asked {
	case ops.Accepted:
		return "accepted by user through " + sanitize.Quoted(caller, maxName)
	case ops.Typed:
		return "typed at a terminal"
	default:
		return ""
	}
}

// author names w in a list of what was done: the person behind sudo and, when
// a program asked, what it calls itself. In a sentence it has to be in quotes, see named.
func author(w journal.Who) string {
	name := cmp.Or(w.SudoUser, w.User)
	if w.Caller == "" {
		return name
	}
	return name + " through " + w.Caller
}

// named is author for a sentence of ours, which a program must not go on with by what it calls itself.
func named(w journal.Who) string { return sanitize.Quoted(author(w), 2*maxName) }

// limited says that the policy holds for w: it got here through sudo and is
// not root itself.
func limited(w journal.Who) bool { return w.SudoUID != nil && *w.SudoUID != 0 }
