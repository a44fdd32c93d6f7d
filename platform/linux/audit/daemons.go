// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"sentinel/platform/linux/procfs"
)

// daemon returns the first process that runs one of the programs as a system user. What a process is called
// proves nothing: a service that was taken over, or a container, can call one of its own so.
func (t processTable) daemon(m *machine, names ...string) (runningProcess, bool) {
	for _, p := range t.list {
		system := p.uid < 1000 || p.uid == m.Owner || procfs.DynamicUser(p.uid)
		runs := p.runs(names)
		if system && (runs || slices.Contains(names, p.name)) && m.startedBySystem(p, runs) {
			return p, true
		}
	}
	return runningProcess{}, false
}

// maxComm is how much of a name the kernel keeps, in bytes (TASK_COMM_LEN without its end).
const maxComm = 15

// runs says whether the program has one of the names, which may be cut as the kernel does it.
func (p runningProcess) runs(names []string) bool {
	name := path.Base(strings.TrimSuffix(p.program, " (deleted)"))
	return slices.ContainsFunc(names, func(n string) bool { return n == name || len(n) == maxComm && strings.HasPrefix(name, n) })
}

// startedBySystem says whether a process runs a file that root alone can have put where it is on this system. A user
// chooses the name of a process of root that runs a program with the set-user-ID bit: unless the file
// has the name, as busybox has not, that is no proof. Where the program cannot be seen, the service that the
// process is in tells.
func (m *machine) startedBySystem(p runningProcess, runs bool) bool {
	if p.program == "" {
		return m.inServiceOf(p)
	}
	program, err := procfs.New(m.Root).Program(p.pid, m.Owner)
	return err == nil && program.System && (runs || !program.Lent) && (!program.Removed || m.sharesRoot(p))
}

// sharesRoot says whether a process has the root directory of this system. A removed file was at a path that
// only the process has seen; services that systemd gives a mount namespace keep the root.
func (m *machine) sharesRoot(p runningProcess) bool {
	its, err := procfs.StatHeld(m.path("/proc/" + strconv.Itoa(p.pid) + "/root"))
	if err != nil {
		return false
	}
	ours, err := procfs.StatHeld(m.path("/"))
	return err == nil && its.Is(ours)
}

// inServiceOf says whether systemd runs a process in a service of this system with its name, less the d of
// a daemon: chronyd in chrony.service. Containers are in scopes, and in groups of their managers.
func (m *machine) inServiceOf(p runningProcess) bool {
	group, err := procfs.New(m.Root).ControlGroup(p.pid)
	slice, unit := path.Split(group)
	return err == nil && slice == "/system.slice/" && strings.HasSuffix(unit, ".service") && strings.Contains(unit, strings.TrimSuffix(p.name, "d"))
}
