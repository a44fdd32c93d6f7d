// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"path"
	"slices"
	"strings"
)

// maxComm is how much of a name the kernel keeps, in bytes (TASK_COMM_LEN without its end).
const maxComm = 15

// Named says whether the file has one of some names, which may be cut as the kernel does it.
func (p Program) Named(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n == p.Name() || len(n) == maxComm && strings.HasPrefix(p.Name(), n) })
}

// Daemon reports whether a process that is called name, or runs one of the programs names, is one of the system: of
// root or an account of the system, and its file is one that root alone can have put where it is on this
// system. What it is called proves nothing, and a user chooses the name of a process of root that runs a program with
// the set-user-ID bit: unless the file has the name, as busybox has not, that is no proof. Where the program cannot
// be seen, the service that the process is in tells, and if that does not, the error says why it was not seen.
// Files of the system are owner's.
func (f FS) Daemon(pid int, name string, names []string, owner int) (bool, error) {
	uid, err := f.ownerOf(pid, "")
	if err != nil || uid >= firstOrdinary && uid != owner && !DynamicUser(uid) {
		return false, unlessEnded(err)
	}
	p, err := f.Program(pid, owner)
	if Ended(err) {
		tid, none := f.Thread(pid)
		if none != nil {
			return false, unlessEnded(none)
		}
		pid = tid
		p, err = f.Program(pid, owner)
	}
	switch {
	case Ended(err):
		return false, nil
	case err != nil && p.Path == "" && f.inServiceOf(pid, name):
		return true, nil
	case err != nil:
		return false, err
	}
	return p.System && (p.Named(names) || !p.Lent) && (!p.Removed || f.sharesRoot(pid)), nil
}

func unlessEnded(err error) error {
	if Ended(err) {
		return nil
	}
	return err
}

// sharesRoot says whether a process has the root directory of this system. A removed file was at a path that
// only the process has seen; services that systemd gives a mount namespace keep the root.
func (f FS) sharesRoot(pid int) bool {
	its, err := f.Held(pid, "root")
	if err != nil {
		return false
	}
	ours, err := StatHeld(f.inRoot("/"))
	return err == nil && its.Is(ours)
}

// inServiceOf says whether systemd runs a process in a service of this system with its name, less the d of
// a daemon: chronyd in chrony.service. Containers are in scopes, and in groups of their managers.
func (f FS) inServiceOf(pid int, name string) bool {
	group, err := f.ControlGroup(pid)
	slice, unit := path.Split(group)
	templated, _ := path.Match("/system.slice/system-*.slice/", slice) //nolint:errcheck // the pattern is one
	return err == nil && (slice == "/system.slice/" || templated) && strings.HasSuffix(unit, ".service") && strings.Contains(unit, strings.TrimSuffix(name, "d"))
}
