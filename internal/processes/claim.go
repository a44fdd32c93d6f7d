// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
)

// A Claim is what a process calls itself, which it may choose, and what it is, which it may not.
type Claim struct {
	PID      int
	Name     string // of the kernel
	Argument string // its first one
	Kernel   bool   // a thread of the kernel
	Mounts   Mounts
	// Apart says that what runs is in no mount of the system, but in one that its user can have made.
	Apart    bool
	UserID   int
	Login    bool   // it descends from a login of a person that root has recorded
	Program  string // path of what runs
	Place    Place  // of that file, where it is apart
	Unmapped bool   // the process has nothing of it in its memory: the path was chosen, and it runs something else
	Removed  bool   // the file is gone from there
	Replaced bool   // and another one is there
	Deployed bool   // which the user of the process could not have put there
	System   bool   // root alone could have put it there
	Owner    int    // of that file; -1 where it is not known
	Clone    bool   // the copy of itself in memory that a program of containers runs as root
	// Loader is the dynamic loader that the kernel shows in the place of Program, which that has loaded; "" where the
	// kernel shows what runs. Of the file of Program no more is known then than its path.
	Loader string
	// Daemons are those of this system; nil where their names are not known.
	Daemons *Daemons
	// Same says that the path in Argument leads to the file that runs, as a symbolic link does; Placed
	// that root alone could have made what is there.
	Same, Placed bool
}

// A Place is where the file of a program is that its user may have mounted under another path.
type Place string

// The places that hide a program, in words, and one that containers without root have.
const (
	PlaceMemory    Place = "from a file system in memory that its user mounted"
	PlaceDetached  Place = "from a file system that neither the system nor the process has mounted"
	PlaceTemporary Place = "from a folder for temporary files that its user mounted elsewhere"
	PlaceCovering  Place = "from a file system of its user's, mounted over a folder of the system"
	PlaceContainer Place = "from a file system of its user's, as in a rootless container"
	PlaceUnknown   Place = "from a place that its user made impossible to look up"
	PlaceTooLong   Place = "from a path that is too long to be looked up"
)

// Mounts says in whose mount namespace a process is, where its paths lead elsewhere than here.
type Mounts int

// The mount namespaces.
const (
	MountsHere        Mounts = iota // the path of its program leads to it
	MountsOfUser                    // any user can have made it
	MountsOfService                 // made by root, with the process IDs that are seen here
	MountsOfContainer               // made by root, with process IDs of its own
)

// A Disguise is how a process hides what it is.
type Disguise int

// The disguises.
const (
	NoDisguise Disguise = iota
	Pretends            // it calls itself a daemon of the system, or a thread of the kernel, and is not
	Hides               // its program is in memory, in a folder for temporary files, or removed
)

// Judge says whether a process hides what it is, and how, in words that follow its name. It keeps
// still where there is another reason for the same look: containers, logins of people, interpreters
// and updates. What the user of the process can have brought about himself is no reason.
func (c Claim) Judge() (Disguise, string) {
	if c.Kernel || c.Program == "" {
		return NoDisguise, ""
	}
	if what := c.pretended(); what != "" {
		disguise, where := Pretends, ""
		if c.Mounts == MountsOfUser {
			disguise, where = c.imitates(), ", in a file system of its user's, as in a rootless container"
		}
		return disguise, fmt.Sprintf("calls itself %s and runs %s%s", what, c.shown(), where)
	}
	if where := c.hidden(); where != "" {
		return Hides, where
	}
	if c.scripted() {
		return Hides, fmt.Sprintf("calls itself %s and runs %s, as a script of that name does", sanitize.Text(c.Name, 32), c.shown())
	}
	return NoDisguise, ""
}

// ofScripts are names of daemons that people also give their scripts.
var ofScripts = []string{"cron", "init"}

// scripted reports the name of a daemon that is none of a script, and that its interpreter alone excuses:
// any process can be called so. Root has scripts that start daemons and are called as these.
func (c Claim) scripted() bool {
	return c.UserID != 0 && !c.trying() && !slices.Contains(ofScripts, c.Name) && c.Mounts < MountsOfService && c.Daemons != nil && slices.Contains(c.Daemons.Core, c.Name) && c.misnamed(c.Name, nil)
}

// imitates judges what calls itself a daemon in the mount namespace of a user. Where it has the place of
// that daemon as well, it is what containers without root have.
func (c Claim) imitates() Disguise {
	c.System, c.Owner, c.Mounts, c.UserID = true, 0, MountsHere, 0
	if c.pretended() == "" {
		return Hides
	}
	return Pretends
}

// Plain reports that whatever else is found out about the process changes nothing. What is not known
// yet is the worst that it can be: it only excuses, but for the place of what is apart.
func (c Claim) Plain() bool {
	if c.Apart || c.Unmapped || c.Daemons.Load(c.Program) {
		return c.Kernel || c.Program == ""
	}
	c.Program, c.Removed = strings.CutSuffix(c.Program, " (deleted)")
	c.Mounts, c.System, c.Same, c.Clone, c.Deployed, c.Login, c.Owner = MountsHere, false, false, false, false, false, 1
	disguise, _ := c.Judge()
	return disguise == NoDisguise
}

// shown is the program for people.
func (c Claim) shown() string {
	text := c.quoted()
	if c.Removed && !c.inMemory() {
		text += ", which was removed"
	}
	return text
}

func (c Claim) inMemory() bool { return c.Unmapped || strings.HasPrefix(c.Program, "/memfd:") }

// quoted is its path, which whoever started it has chosen.
func (c Claim) quoted() string { return sanitize.Quoted(c.Program, 60) }

// pretended names what the process calls itself without being it; "" for nothing.
func (c Claim) pretended() string {
	if c.threadName() {
		return "a thread of the kernel"
	}
	if c.Mounts >= MountsOfService || c.Daemons == nil {
		return ""
	}
	title := c.title()
	if c.misnamed(c.Name, c.Daemons.Interpreters) {
		return sanitize.Text(c.Name, 32)
	}
	if c.misnamed(title, nil) {
		return sanitize.Text(title, 32)
	}
	return ""
}

// threadName reports a name that only threads of the kernel have.
func (c Claim) threadName() bool {
	first, _, _ := strings.Cut(c.Argument, " ")
	return len(first) > 2 && first[0] == '[' && strings.HasSuffix(strings.TrimSpace(c.Argument), "]") || kernelName(c.Name)
}

// title is the name that the process gives itself in its first argument.
func (c Claim) title() string {
	first, _, _ := strings.Cut(c.Argument, " ")
	return path.Base(strings.TrimSuffix(strings.TrimPrefix(first, "-"), ":"))
}

// misnamed reports whether a name is that of a daemon and the program is not it. others run programs
// of other names: the kernel calls a script by its own name, and gives it the interpreter as first
// argument.
func (c Claim) misnamed(name string, others []string) bool {
	core := slices.Contains(c.Daemons.Core, name)
	if !core && !slices.Contains(c.Daemons.Servers, name) {
		return false
	}
	file := path.Base(c.Program)
	linked := c.Same && (!core || c.Placed) && strings.HasPrefix(c.title(), name) // which the kernel cuts
	if !c.Unmapped && (linked || strings.HasPrefix(file, name)) {                 // or sshd-session
		return core && (c.Mounts == MountsOfUser || c.misplaced()) // where its user put any file at that path
	}
	return !c.System || !c.carries(file, core) && !begins(others, file)
}

// carries reports whether a program of the system runs under names of daemons. Whoever starts it chooses
// the name, so it excuses a person only for what people may call a program of their own, and emulators and
// loaders, which run any file, nobody but root.
func (c Claim) carries(file string, core bool) bool {
	return (!core || !c.person()) && begins(c.Daemons.Carriers, file) || c.UserID == 0 && (begins(c.Daemons.Emulators, file) || begins(c.Daemons.Loaders, file))
}

func begins(prefixes []string, file string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(file, p) })
}

// installed are where programs of the system are.
var installed = []string{"/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/", "/gnu/", "/snap/", "/ostree/", "/sysroot/"}

// misplaced says that a daemon which only the system installs is in a place where it does not.
func (c Claim) misplaced() bool {
	in := func(dir string) bool { return strings.HasPrefix(c.Program, dir) }
	return c.Owner > 0 || !slices.ContainsFunc(installed, in) || strings.Contains(c.Program, "/.")
}

// kernelNames begin the names of kernel threads that every machine has.
var kernelNames = []string{"kworker/", "ksoftirqd/", "migration/", "kthreadd", "rcu_", "kswapd", "khugepaged", "kcompactd", "kdevtmpfs", "jbd2/", "scsi_eh_"}

func kernelName(name string) bool {
	return slices.ContainsFunc(kernelNames, func(k string) bool { return strings.HasPrefix(name, k) })
}

// Daemons are the names that a system's own programs have.
type Daemons struct {
	// Core are programs that only a system installs, each a binary of that name, at most 15 bytes of
	// it, as the kernel cuts them. Servers are those that people also install for themselves. Neither
	// has one that an interpreter runs.
	Core, Servers []string
	// Carriers begin the names of programs of the system that run under other names, Emulators and Loaders those
	// that run whatever file they are given; Loaders map that as it is.
	Carriers, Emulators, Loaders []string
	// Interpreters begin the names of programs that run scripts.
	Interpreters []string
}

// Load reports whether a program is a dynamic loader (ld.so(8)), which the kernel shows in the place of what it is told to run.
func (d *Daemons) Load(program string) bool {
	return d != nil && begins(d.Loaders, path.Base(program))
}

// LoadedGone reports whether code that a loader has mapped is of memory or of a file that is gone, by its path in
// proc_pid_maps(5). Libraries of the system are replaced by updates, and memory in huge pages is called like a file.
func LoadedGone(file string) bool {
	name, gone := strings.CutSuffix(file, " (deleted)")
	ofSystem := name == "/anon_hugepage" || slices.ContainsFunc(installed, func(dir string) bool { return strings.HasPrefix(name, dir) })
	return strings.HasPrefix(name, "/memfd:") || gone && strings.HasPrefix(name, "/") && !ofSystem
}

// LoadedTemporary is [LoadedGone] for a folder for temporary files.
func LoadedTemporary(file string) bool { return inTemporary(strings.TrimSuffix(file, " (deleted)")) }

// temporary are folders in which everybody may write, and memory that is a folder.
var temporary = []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/dev/mqueue/", "/run/user/", "/run/shm/", "/run/lock/", "/private/tmp/", "/private/var/tmp/"}

// Temporary are folders in which everybody may write.
func Temporary() []string {
	list := make([]string, len(temporary))
	for i, dir := range temporary {
		list[i] = strings.TrimSuffix(dir, "/")
	}
	return list
}

func inTemporary(file string) bool {
	return slices.ContainsFunc(temporary, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// User IDs that are no person's: those up to lastAccount, and nobody.
const (
	lastAccount = 999
	nobody      = 65534
)

// person reports that a process is no account's of the system.
func (c Claim) person() bool { return person(c.UserID) }

func person(uid int) bool { return uid > lastAccount && uid != nobody }

// hidden says where a program runs from that nobody installs programs to; "" for elsewhere.
func (c Claim) hidden() string {
	switch {
	case c.Clone:
		return ""
	case c.Unmapped && c.Mounts != MountsOfContainer:
		return "runs a program from memory and calls it " + c.quoted() + ", of which it has loaded nothing"
	case strings.HasPrefix(c.Program, "/memfd:"):
		return "runs a program from memory that never was a file, " + c.quoted()
	case c.Mounts == MountsOfContainer, c.System:
		return ""
	case strings.HasPrefix(c.Program, "/dev/"), inTemporary(c.Program) && !c.trying():
		return "runs a program from a folder for temporary files, " + c.shown()
	case c.Place != "" && c.Place != PlaceContainer && !c.trying():
		return "runs a program " + string(c.Place) + ", " + c.shown()
	case c.Removed && !c.Deployed && !c.trying():
		return "runs a program whose file was removed, " + c.quoted()
	}
	return ""
}

// LeavesNoFile says whether a program runs of which no file is left that others could look at: it is in memory, it was
// removed from a folder for temporary files, whatever its user has mounted that as, or it is on a file system that its
// user alone has. A login excuses none of these.
func (c Claim) LeavesNoFile() bool {
	switch {
	case c.inMemory():
		return !c.Unmapped || c.Mounts != MountsOfContainer
	case slices.Contains([]Place{PlaceMemory, PlaceDetached, PlaceCovering, PlaceUnknown, PlaceTooLong}, c.Place):
		return true
	default:
		return c.Removed && (c.Place == PlaceTemporary || strings.HasPrefix(c.Program, "/dev/") || inTemporary(c.Program))
	}
}

// trying reports a person who tries something, or anybody who builds something, in a login: where tools put
// what they build or unpack to run it at once is a name that everybody can give a folder.
func (c Claim) trying() bool { return c.Login && (c.person() || c.building()) }

func (c Claim) building() bool {
	return strings.Contains(c.Program, "/go-build") || strings.Contains(c.Program, "/.mount_") || strings.Contains(c.Program, "/_MEI")
}

// fromPackages says that a program is in a folder that belongs to packages alone (hier(7)).
func (c Claim) fromPackages() bool {
	return c.Mounts == MountsHere && !c.Removed && slices.ContainsFunc([]string{"/usr/bin/", "/usr/sbin/", "/usr/lib", "/bin/", "/sbin/"}, func(dir string) bool {
		return strings.HasPrefix(c.Program, dir)
	})
}
