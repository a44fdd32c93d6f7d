// SPDX-License-Identifier: Apache-2.0

package journald

import "cmp"

// Writer returns whose an entry is: uid is its _UID, login its _AUDIT_LOGINUID and owner its
// _SYSTEMD_OWNER_UID, 0 where it has none (systemd.journal-fields(7)).
//
// _UID 0 says no more than that a program of root's has put it there. Everybody can connect to journald,
// choose the name and the priority, and hand that socket as standard error to a set-user-ID program, which
// complains as root with what it was given, such as sudo. Then the login and the unit still tell who ran it.
func Writer(uid, login, owner int) int {
	if uid != 0 {
		return uid
	}
	return cmp.Or(login, owner)
}

// User returns whose the entry is; see [Writer]. It is -1 if unknown.
func (e *Entry) User() int { return Writer(e.UID, e.Login, e.Owner) }
