// SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"errors"

	"sentinel/internal/elevation"
	"sentinel/internal/privilege"
	"sentinel/platform/unix/caller"
)

// LeaveCaller takes a run as root with these arguments out of the hands of the user who started it
// through sudo: what that user may do to processes must not stop one that holds a lock. It comes
// before everything else, but for the control group, which a run leaves when it is admitted ([Admit]).
// Root's own run keeps what root gave it.
func LeaveCaller(args []string, getenv func(string) string) {
	if !privilege.IsRoot() {
		return
	}
	caller.Umask()
	if !behindSudo(getenv) {
		return
	}
	leaveCaller()
	caller.Leave()
	privilege.LeaveGroups() // with the limit of signals that was raised just now
	if elevation.IsRequest(args) {
		caller.LeaveSession()
	}
}

// behindSudo says that this is a run as root for another user.
func behindSudo(getenv func(string) string) bool {
	uid, _, ok := privilege.SudoUser(getenv)
	return privilege.IsRoot() && ok && uid != 0
}

// placesOfUser is how many runs as root a user behind sudo may have at a time. They leave the control
// group of that user, and what bounds it: with no bound of their own, as many as somebody likes to start
// would use up the memory of the machine.
const placesOfUser = 32

// ErrFull means that a user has no place left.
var ErrFull = caller.ErrFull

// Admit takes a place for this run, until it ends, among those of the user behind sudo, and returns its number, from
// 0 on, and takes the files of that user out of what this run starts. flush waits until all that was written is handed
// on; its error says that it was not. The error is ErrFull where all are taken, [ErrNotRelayed] after a [Relay] that
// failed, and another one where a file cannot be taken out. Where places cannot be counted, as on a read-only file system, there is no bound.
func Admit(uid int) (place int, flush func() error, err error) {
	if notRelayed != nil {
		return 0, func() error { return nil }, notRelayed
	}
	place, err = caller.Place(runDir+"/sentinel-callers", uid, placesOfUser)
	if errors.Is(err, ErrFull) {
		return 0, func() error { return nil }, err
	}
	leaveGroup() // whoever is refused stays in that of the user, which bounds how many these are
	flush, err = leaveFiles()
	return place, flush, err
}
