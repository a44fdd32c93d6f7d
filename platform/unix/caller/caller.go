// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package caller takes a run as root out of the hands of the user who started it through sudo.
//
// A process inherits how it is scheduled, what it may use and which signals reach it. sudo passes
// all of that on, so a user could start a run as root such that it stops while it holds a lock, or
// leaves files behind that a service of root's cannot read.
package caller

import (
	"os"

	"golang.org/x/sys/unix"
)

// umask is what the modes in the code are made for.
const umask = 0o022

// Umask sets the file mode creation mask of this process.
func Umask() { unix.Umask(umask) }

// Leave makes the limits and the priority of this process those of a service of root's. Where the
// system does not let it, they stay as they are. It never takes anything away.
func Leave() {
	for _, list := range []map[int]unix.Rlimit{limits, ownLimits} {
		for resource, least := range list {
			raise(resource, least)
		}
	}
	resetPriority()
}

// limits are the least soft and hard limits (getrlimit(2)): those that Linux and macOS give their
// first process, and for open files those that systemd gives to services.
var limits = map[int]unix.Rlimit{
	unix.RLIMIT_CPU:    unlimited,
	unix.RLIMIT_FSIZE:  unlimited,
	unix.RLIMIT_DATA:   unlimited,
	unix.RLIMIT_AS:     unlimited,
	unix.RLIMIT_NPROC:  unlimited,
	unix.RLIMIT_STACK:  {Cur: 8 << 20, Max: 8 << 20},
	unix.RLIMIT_NOFILE: {Cur: 1024, Max: 4096},
}

var unlimited = unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}

func raise(resource int, least unix.Rlimit) {
	var now unix.Rlimit
	if unix.Getrlimit(resource, &now) != nil || now.Cur >= least.Cur && now.Max >= least.Max {
		return
	}
	wanted := unix.Rlimit{Cur: max(now.Cur, least.Cur), Max: max(now.Max, least.Max)}
	if unix.Setrlimit(resource, &wanted) != nil { // a hard limit takes a capability to raise, which root may lack
		unix.Setrlimit(resource, &unix.Rlimit{Cur: min(wanted.Cur, now.Max), Max: now.Max}) //nolint:errcheck // see Leave
	}
}

// LeaveSession leaves the session with its terminal, whose keys send signals, and the working
// directory, which may be on a file system of the caller's. It is for a run that a program has
// started: somebody at a terminal ends a run with Ctrl-C. A process that leads its group, as that
// of a sudo with a terminal of its own does, cannot leave its session (setsid(2)); that session is
// not the caller's.
func LeaveSession() {
	unix.Setsid() //nolint:errcheck // see above
	os.Chdir("/") //nolint:errcheck // root may always
}
