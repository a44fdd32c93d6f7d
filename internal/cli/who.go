// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"math"
	"strconv"

	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
)

// maxName is the longest name of a user that is recorded, in runes.
const maxName = 64

// whoAsks returns on whose behalf this run acts: the user who started it and,
// behind sudo, the user who ran sudo. sudo sets SUDO_UID and SUDO_USER itself and
// does not let the caller set them (sudo(8)); without sudo they mean nothing.
func (p Program) whoAsks(c ops.Context) journal.Who {
	w := journal.Who{UID: p.UID, User: "uid " + strconv.Itoa(p.UID), Caller: sanitize.Text(c.Caller, maxName)}
	w.Asked = agreedText(c.Asked, w.Caller)
	if p.UID == 0 {
		w.User = "root"
	}
	if !p.Root || p.Getenv == nil {
		return w
	}
	text, user := p.Getenv("SUDO_UID"), p.Getenv("SUDO_USER")
	if text == "" && user == "" {
		return w
	}
	uid, err := strconv.ParseInt(text, 10, 64)
	if err != nil || uid < 0 || uid > maxUID {
		uid = maxUID // somebody, and not root
	}
	w.SudoUID, w.SudoUser = new(int(uid)), sanitize.Text(user, maxName)
	return w
}

// agreedText says who agreed to a change, as the journal keeps it.
func agreedText(asked, caller string) string {
	switch asked {
	case ops.Accepted:
		return "accepted by user through " + caller
	case ops.Typed:
		return "typed at a terminal"
	default:
		return ""
	}
}

// maxUID is the user id that no user has ((uid_t)-1), and where int has 32 bits
// the largest that fits.
const maxUID = min(1<<32-1, math.MaxInt)

// author names w in a list of what was done: the person behind sudo and, when
// a program asked, what it calls itself.
func author(w journal.Who) string {
	name := cmp.Or(w.SudoUser, w.User)
	if w.Caller == "" {
		return name
	}
	return name + " through " + w.Caller
}

// limited says that the policy holds for w: it got here through sudo and is
// not root itself.
func limited(w journal.Who) bool { return w.SudoUID != nil && *w.SudoUID != 0 }
