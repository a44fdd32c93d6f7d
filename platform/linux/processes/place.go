// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/processes"
	"sentinel/internal/sshserver"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sessions"
)

// system is the process whose mounts are those of the system. A run of a service has others.
const system = 1

// mountsHere numbers the mounts of the system (proc_pid_mountinfo(5)); nil where they are not known.
func (s *Source) mountsHere() map[uint64]bool {
	table, err := mounts.New(s.root).TableOf(s.proc, system)
	if err != nil {
		return nil
	}
	numbers := make(map[uint64]bool, len(table))
	for _, m := range table {
		numbers[uint64(m.ID)] = true
	}
	return numbers
}

// placeOf is what the path of a program alone says.
func placeOf(program string) processes.Place {
	if procfs.IsTooLong(program) {
		return processes.PlaceTooLong
	}
	return ""
}

// place says where the file of a program is, by the mount that the kernel has it in. No name is followed:
// all of them may be the user's.
func (s *Source) place(c processes.Claim, runs procfs.Held) processes.Place {
	here, err := mounts.New(s.root).TableOf(s.proc, system)
	if err != nil || runs.Mount == 0 || mountOf(here, runs) != nil {
		return ""
	}
	for _, pid := range s.lineage(c.PID) {
		table, err := mounts.New(s.root).TableOf(s.proc, pid)
		if err != nil {
			return processes.PlaceUnknown
		}
		if m := mountOf(table, runs); m != nil {
			return cmp.Or(s.placeIn(pid, m, c.Program, here), s.servedIn(pid, m, table, here))
		}
	}
	return processes.PlaceDetached
}

// lineage is a process and its parent: who makes a namespace and starts nothing there runs in a mount of
// the one before, as bwrap(1) does.
func (s *Source) lineage(pid int) []int {
	p, err := s.proc.Process(pid)
	if err != nil || p.ParentPID <= system {
		return []int{pid}
	}
	return []int{pid, p.ParentPID}
}

func mountOf(table []*mountinfo.Info, runs procfs.Held) *mountinfo.Info {
	at := slices.IndexFunc(table, func(m *mountinfo.Info) bool { return uint64(m.ID) == runs.Mount })
	if at < 0 {
		return nil
	}
	return table[at]
}

// placeIn judges a mount that a process sees, and the file of a program in it.
func (s *Source) placeIn(pid int, m *mountinfo.Info, program string, here []*mountinfo.Info) processes.Place {
	if slices.Contains([]string{"tmpfs", "ramfs"}, m.FSType) {
		return processes.PlaceMemory
	}
	root, err := s.proc.Link(pid, "root")
	if err != nil || m.Root == "" || m.Mountpoint == "" {
		return processes.PlaceUnknown
	}
	file, ok := below(program, root)
	if ok {
		file, ok = below(file, m.Mountpoint)
	}
	switch file = path.Join(m.Root, file); {
	case !ok:
		return processes.PlaceUnknown
	case slices.ContainsFunc(processes.Temporary(), func(dir string) bool { return holds(here, dir, m, file) }):
		return processes.PlaceTemporary
	}
	return ""
}

// servedIn judges a mount of layers or of a server that the system has nowhere (overlay, FUSE): what it shows, its user
// chose, from where nobody else looks. Rootless containers have their root there; over the system's own it only covers
// what is there.
func (s *Source) servedIn(pid int, m *mountinfo.Info, table, here []*mountinfo.Info) processes.Place {
	kind, _, _ := strings.Cut(m.FSType, ".") // fuse.sshfs
	known := func(other *mountinfo.Info) bool { return mounts.DeviceOf(other) == mounts.DeviceOf(m) }
	if !slices.Contains([]string{"overlay", "fuse"}, kind) || slices.ContainsFunc(here, known) {
		return ""
	}
	root, err := s.proc.Link(pid, "root")
	on, _ := mounts.At(table, root)
	own, _ := mounts.At(here, "/")
	if err != nil || on == nil || own == nil {
		return processes.PlaceUnknown
	}
	if rest, ok := below(root, on.Mountpoint); ok && mounts.DeviceOf(on) == mounts.DeviceOf(own) && path.Join(on.Root, rest) == own.Root {
		return processes.PlaceCovering
	}
	return processes.PlaceContainer
}

// holds reports that a file, by its path in the file system of a mount, is below a directory of the system.
func holds(here []*mountinfo.Info, dir string, m *mountinfo.Info, file string) bool {
	on, _ := mounts.At(here, dir)
	if on == nil || mounts.DeviceOf(on) != mounts.DeviceOf(m) {
		return false
	}
	rest, ok := below(dir, on.Mountpoint)
	if !ok {
		return false
	}
	_, in := below(file, path.Join(on.Root, rest))
	return in
}

// below returns a path as one below a directory, "/" for the directory itself.
func below(name, dir string) (string, bool) {
	if dir == "/" {
		return name, strings.HasPrefix(name, "/")
	}
	rest, ok := strings.CutPrefix(name, dir)
	return "/" + strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
}

// loggedIn reports that a process descends from the login of a person. The session manager says so by the
// control group, which no user leaves (systemd.special(7)); without one the terminal does, where it is that
// of a record of its user and root's program that lets people in is above. Everybody can make terminals, and
// has utempter(1) record a login at them.
func (s *Source) loggedIn(c processes.Claim) bool {
	group, err := s.proc.ControlGroup(c.PID)
	if rest, ok := strings.CutPrefix(group, "/user.slice/user-"); ok && err == nil {
		owner, rest, _ := strings.Cut(rest, ".slice/")
		unit, _, _ := strings.Cut(rest, "/")
		if id, ok := strings.CutPrefix(unit, "session-"); ok {
			return sessions.Recorded(s.root, strings.TrimSuffix(id, ".scope"))
		}
		return owner == strconv.Itoa(c.UserID) && sessions.HasLogin(s.root, c.UserID)
	}
	return s.atRecordedTerminal(c)
}

func (s *Source) atRecordedTerminal(c processes.Claim) bool {
	p, err := s.proc.Process(c.PID)
	if err != nil || p.Terminal == 0 {
		return false
	}
	terminal, _ := sessions.Terminal(p.Terminal)
	names, err := s.names()
	return err == nil && sessions.At(s.root, terminal, names.Name(c.UserID)) && s.belowLogin(p.ParentPID)
}

// loginServers are the programs of root that start something for a person once they know who it is.
var loginServers = append(sshserver.Names(), "login", "gdm-session-worker", "sddm-helper", "lightdm", "lxdm", "xdm", "greetd", "xrdp-sesman")

// maxAbove bounds how far up a login is looked for. Who nests deeper loses an excuse.
const maxAbove = 64

// belowLogin reports that a process or one above it is such a program.
func (s *Source) belowLogin(pid int) bool {
	for range maxAbove {
		p, err := s.proc.Process(pid)
		if err != nil || pid <= system {
			return false
		}
		if s.letsIn(pid) {
			return true
		}
		pid = p.ParentPID
	}
	return false
}

func (s *Source) letsIn(pid int) bool {
	owner := s.owner()
	uid, err := s.proc.UID(pid)
	if err != nil || uid != owner {
		return false
	}
	p, err := s.proc.Program(pid, owner)
	return err == nil && p.System && slices.Contains(loginServers, p.Name())
}
