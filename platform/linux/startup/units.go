// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// The directories of unit files, first what counts (systemd.unit(5)).
var (
	systemUnits = []string{
		"/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient", "/run/systemd/generator.early", "/etc/systemd/system", "/etc/systemd/system.attached",
		"/run/systemd/system", "/run/systemd/system.attached", "/run/systemd/generator", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator.late",
	}
	userUnits = []string{
		"/etc/xdg/systemd/user", "/etc/systemd/user", "/run/systemd/user", "/usr/local/share/systemd/user", "/usr/local/lib/systemd/user", "/usr/share/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user", "/var/lib/flatpak/exports/share/systemd/user",
	}
	// vendorUnits hold what packages ship. In any other directory somebody put a unit for it to run.
	vendorUnits = []string{"/usr/lib/", "/lib/", "/usr/share/", generatedUnits}
)

// generatedUnits begins the directories of units that generators make at each start (systemd.generator(7)).
const generatedUnits = "/run/systemd/generator"

// errLinked reports a file that may come with a file system which is mounted later.
var errLinked = errors.New("the file that it links to is not there")

// wantedBy are the ends of directories whose names are units that another one starts
// (systemd.unit(5)).
var wantedBy = []string{".wants", ".requires", ".upholds"}

// unitKinds are the units that start something. Those of mounts and swap run a program of the system, and
// are entries where they make it load or run something.
var unitKinds = map[string]startup.Kind{
	".service": startup.Service, ".timer": startup.Timer, ".socket": startup.Socket, ".path": startup.PathUnit, ".mount": startup.MountUnit, ".swap": startup.MountUnit,
}

// groups are units that run nothing themselves and may have others started (systemd.target(5)).
var groups = []string{".target", ".slice", ".automount", ".device"}

func isGroup(name string) bool { return slices.Contains(groups, path.Ext(name)) }

// implied are the kinds of units that systemd starts although nothing names them: a slice with the first unit in it, a
// mount or swap with a unit that needs its path, a device as the hardware appears (systemd.slice(5), systemd.mount(5),
// systemd.device(5)).
var implied = []string{".slice", ".mount", ".automount", ".swap", ".device"}

// startedForUsers and started are the units that the service manager of a user, and that of the system, starts
// anyhow, and that have others started (bootup(7), systemd.special(7)). The last three are logind's (logind.conf(5), user@.service(5)).
var (
	startedForUsers = []string{"default.target", "basic.target", "sockets.target", "timers.target", "paths.target", "shutdown.target", "exit.target"}
	started         = append([]string{
		"graphical.target", "multi-user.target", "sysinit.target", "slices.target", "local-fs.target", "remote-fs.target", "swap.target",
		"poweroff.target", "reboot.target", "halt.target", "kexec.target", "soft-reboot.target", "ctrl-alt-del.target", "kbrequest.target", "sigpwr.target",
		"sleep.target", "suspend.target", "hibernate.target", "hybrid-sleep.target", "suspend-then-hibernate.target",
		"user@.service", "user-runtime-dir@.service", "autovt@.service",
	}, startedForUsers...)
)

// units finds what systemd starts, for the system and for every user.
func (s *survey) units() {
	system, user := newUnitSet(systemSpecifiers()), newUnitSet(commonSpecifiers())
	s.scan(system, systemUnits)
	s.scan(user, userUnits)
	wants := s.udevWants()
	system.start(started, wants[udevWanted], s.kernelWants(), s.busWants(systemBus))
	user.start(startedForUsers, wants[udevUserWanted], s.busWants(sessionBus))
	s.unitEntries(system, "")
	s.unitEntries(user, startup.UserUnit)
	s.forSystem, s.forUsers = system, user
}

func (s *survey) scan(set *unitSet, dirs []string) {
	for _, directory := range dirs {
		if real, err := s.directory(directory); err == nil {
			set.dirs[real] = true
		}
	}
	seen := map[string]bool{}
	for _, directory := range dirs {
		real, names := s.once(seen, directory)
		for _, name := range names {
			s.scanName(set, real, name)
		}
	}
}

func (s *survey) scanName(set *unitSet, directory, name string) {
	file := path.Join(directory, name)
	switch suffix := path.Ext(name); {
	case slices.Contains(wantedBy, suffix):
		for _, unit := range s.names(file) {
			set.enabled[unit] = true
		}
	case suffix == ".d":
		for _, one := range s.names(file) {
			if strings.HasSuffix(one, ".conf") {
				unit := strings.TrimSuffix(name, ".d")
				set.dropIns[unit] = append(set.dropIns[unit], path.Join(file, one))
			}
		}
	default:
		if (unitKinds[suffix] != "" || isGroup(name)) && set.files[name] == "" && set.aliases[name] == "" && !set.masked[name] {
			s.unitFile(set, file, name)
		}
	}
}

// transientUnits is where units are that were made while systemd runs (systemd-run(1)). They were started then: whether
// anything starts them says nothing.
const transientUnits = "/run/systemd/transient/"

// unitFile notes a unit, an alias of one or a mask.
func (s *survey) unitFile(set *unitSet, file, name string) {
	vendor := slices.ContainsFunc(vendorUnits, func(dir string) bool { return strings.HasPrefix(file, dir) })
	info, err := hostfile.Lstat(s.path(file))
	if err != nil {
		return
	}
	if info.Mode&fs.ModeSymlink != 0 {
		switch to, isUnit := s.linkOf(set, file); {
		case to == "/dev/null":
			set.masked[name] = true
			return
		case isUnit && path.Base(to) != name: // an alias, which enables where somebody made it
			set.aliases[name] = path.Base(to)
			if !vendor {
				set.enabled[path.Base(to)] = true
			}
			return
		case !isUnit:
			set.linked[name] = true
		}
	}
	set.files[name] = file
	set.own[name] = !vendor && (path.Ext(name) != ".service" || !strings.HasPrefix(file, transientUnits))
}

// linkOf returns where a link of a directory of units leads, and whether that is in one of them: a link to
// elsewhere is the unit itself, whatever the file is called there ("linked unit file" of systemctl(1)).
func (s *survey) linkOf(set *unitSet, file string) (to string, isUnit bool) {
	to, err := os.Readlink(s.path(file))
	if err != nil {
		return "", false
	}
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(file), to)
	}
	directory, err := s.directory(path.Dir(to))
	if err != nil {
		return path.Clean(to), set.dirs[path.Dir(path.Clean(to))]
	}
	return path.Join(directory, path.Base(to)), set.dirs[directory]
}

// unitEntries adds the units that are enabled, implied or somebody's own, and all drop-ins. kind is that of
// all of them, or "" for a kind by their names.
func (s *survey) unitEntries(set *unitSet, kind startup.Kind) {
	var names []string
	for name := range set.files {
		if (set.enabled[name] || set.own[name] || slices.Contains(implied, path.Ext(name))) && !set.masked[name] {
			names = append(names, name)
		}
	}
	for name := range set.enabled {
		if unitKinds[path.Ext(name)] != "" && set.files[name] == "" && !set.masked[name] && set.canonical(name) == name {
			names = append(names, name)
		}
	}
	for _, name := range append(names, s.wanted(set, names)...) {
		s.unitEntry(set, name, kind)
	}
	s.dropInEntries(set, kind)
}

func (s *survey) unitEntry(set *unitSet, name string, kind startup.Kind) {
	from, _ := set.find(name)
	if from == "" || isGroup(name) {
		return // what has no file anywhere starts nothing: units of packages that are not installed
	}
	f, ok := s.open(from)
	if !ok {
		if set.linked[path.Base(from)] {
			s.miss(from, errLinked)
		}
		return
	}
	u := s.effective(set, name)
	e := startup.Entry{Kind: kind, Name: name, Identity: name, When: strings.Join(u.triggers, ", "), User: u.user}
	if set.enabled[name] || set.own[name] && !strings.HasPrefix(from, transientUnits) {
		e.Enabled = new(set.enabled[name])
	}
	if kind == "" {
		e.Kind = unitKinds[path.Ext(name)]
	}
	programs, err := s.programs(u)
	switch unitKinds[path.Ext(name)] {
	case startup.Service:
	case startup.MountUnit:
		if len(programs) == 0 {
			return
		}
	default:
		ran := s.effective(set, activated(name, u))
		e.User = ran.user
		of, cut := s.programs(ran)
		programs, err = shellscript.Once(append(programs, of...)), cmp.Or(err, cut)
	}
	added := s.add(f, e, programs...)
	s.overlook(f.name, err)
	if strings.HasPrefix(f.name, generatedUnits) {
		s.fromGenerator(added, u)
	}
}

// fromGenerator attributes a generated unit to what it was made from. One that says nothing of that
// is made anew at each start by a generator, which is an entry of its own.
func (s *survey) fromGenerator(e *entry, u unit) {
	if !path.IsAbs(u.source) {
		e.Origin = startup.Packaged
		return
	}
	if real, err := s.resolve(u.source); err == nil {
		e.source = real
	}
}

// programs are those of a unit of the system, and what its files of variables make them load or run.
func (s *survey) programs(u unit) ([]string, error) {
	sh := shellscript.NewReader(u.size)
	loaded, unread := s.variables(u, sh)
	list, err := u.programs(sh)
	for i, name := range loaded {
		loaded[i] = u.root.place(name)
	}
	if u.source != fstab || !strings.HasPrefix(u.fragment, generatedUnits) {
		list = append(list, s.mountHelpers(u.mounts, u.fsType, sh)...)
	}
	return shellscript.Once(append(list, loaded...)), cmp.Or(unread, err)
}

// instanceSpecifier takes out those that a template has no value for, of which nothing is run.
var instanceSpecifier = strings.NewReplacer("%i", "", "%I", "")

// variables returns what the variables in files of a unit make its programs load or run, for which sh then has the
// directories that they are looked for in.
func (s *survey) variables(u unit, sh *shellscript.Reader) (list []string, err error) {
	for _, pattern := range u.environmentFiles {
		pattern = u.expand([]string{strings.TrimPrefix(pattern, "-")})[0]
		names, unread := s.matches(pattern)
		if strings.Contains(instanceSpecifier.Replace(pattern), "%") {
			unread = errPattern
		}
		err = cmp.Or(err, unread)
		for _, name := range names {
			f, ok := s.open(name)
			if !ok {
				continue
			}
			of := shellscript.NewReader(len(f.raw)) // each unit may name the file
			list = append(list, loadedBy(s.text(f), of)...)
			if err = cmp.Or(err, of.Err()); of.HasCustomPath() {
				sh.UseCustomPath()
			}
		}
	}
	return list, err
}

// matches are the files that a pattern of names in one directory stands for (systemd.exec(5)).
func (s *survey) matches(pattern string) (list []string, err error) {
	directory, base := path.Split(pattern)
	switch {
	case strings.ContainsAny(directory, `*?[\`):
		return nil, errPattern
	case !strings.ContainsAny(base, `*?[\`):
		return []string{pattern}, nil
	}
	for _, name := range s.names(directory) {
		if hostfile.Glob(base, name) {
			list = append(list, path.Join(directory, name))
		}
	}
	return list, nil
}

func (s *survey) dropInEntries(set *unitSet, kind startup.Kind) {
	var units []string
	for name := range set.dropIns {
		units = append(units, name)
	}
	slices.Sort(units)
	for _, name := range units {
		for _, file := range set.dropIns[name] {
			f, ok := s.open(file)
			if !ok {
				continue
			}
			u := unit{specifiers: set.specifiers}
			u.read(name, s.text(f))
			e := startup.Entry{Kind: startup.DropIn, Name: name + ": " + path.Base(file), Identity: name, When: strings.Join(u.triggers, ", "), User: u.user}
			if kind != "" {
				e.Kind = kind
			}
			programs, err := s.programs(u)
			added := s.add(f, e, programs...)
			s.overlook(f.name, err)
			if strings.HasPrefix(f.name, generatedUnits) {
				added.Origin = startup.Packaged
			}
		}
	}
}

// addUser adds an entry of a user, which no package owns.
func (s *survey) addUser(u userdb.User, f file, e startup.Entry, programs ...string) *entry {
	e.Origin = startup.NoPackage
	return s.addFor(u, f, e, programs...)
}
