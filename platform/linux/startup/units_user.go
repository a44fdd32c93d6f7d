// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"maps"
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/shellscript"
)

// A manager is what the service manager of a user starts, of all directories of the user.
type manager struct {
	user       userdb.User
	specifiers *strings.Replacer   // of its units
	files      map[string]file     // by their names
	first      map[string]file     // by the names of units: of those in several directories, the first
	parsed     map[string]unit     // by the names of files, which many timers may name
	runs       map[string][]string // the programs of those
	enabled    map[string]bool
	wanted     map[string]bool // by files of the user, which may be in effect or not
	size       int             // of its directories
	cut        bool            // not all of its directories was read
}

// take adds the units of a home, or of a runtime directory.
func (m *manager) take(h *home) {
	m.cut, m.size = m.cut || h.cut || h.hidesUnits(), m.size+h.size()
	for unit := range h.enabled {
		for _, name := range namesOf(unit) {
			m.enabled[name] = true
		}
	}
	for name, f := range h.files {
		if slices.ContainsFunc(h.dirs, func(d homeDir) bool { return d.units() && strings.HasPrefix(name, d.path+"/") }) {
			m.files[f.name] = f
		}
	}
}

// hidesUnits reports whether something was not read that may say what starts: the home itself, or a name in a directory
// of units, such as a link to elsewhere.
func (h *home) hidesUnits() bool {
	return slices.ContainsFunc(h.unread, func(u startup.Unread) bool {
		return u.Path == h.place || slices.ContainsFunc(h.dirs, func(d homeDir) bool {
			return d.units() && strings.HasPrefix(u.Path+"/", path.Join(h.place, d.path)+"/")
		})
	})
}

// find returns the file of a unit, in the directory of another if it is there.
func (m *manager) find(unit, beside string) (file, bool) {
	for _, name := range namesOf(unit) {
		if f, ok := m.files[path.Join(beside, name)]; ok {
			return f, true
		}
		if f, ok := m.first[name]; ok {
			return f, true
		}
	}
	return file{}, false
}

// newManager returns that of a user of whom nothing is known yet.
func newManager(u userdb.User) *manager {
	return &manager{user: u, specifiers: specifiersOf(u), files: map[string]file{}, parsed: map[string]unit{}, runs: map[string][]string{}, enabled: map[string]bool{}, wanted: map[string]bool{}}
}

// parse returns what a file says of a unit.
func (s *survey) parse(m *manager, unitName string, f file) unit {
	u, ok := m.parsed[f.name]
	if !ok {
		u.specifiers, u.fragment = m.specifiers, f.name
		u.read(unitName, s.text(f))
		m.parsed[f.name] = u
	}
	return u
}

// index makes first anew.
func (m *manager) index(names []string) {
	m.first = map[string]file{}
	for _, name := range slices.Backward(names) {
		if unitName, dropIn := ofFile(name); !dropIn {
			m.first[unitName] = m.files[name]
		}
	}
}

// homeUnits adds the units of a user: each unit file, enabled or not, and each drop-in.
func (s *survey) homeUnits(m *manager) {
	names := sorted(m.files)
	m.index(names)
	for _, name := range names {
		if s.late(m.files[name]) {
			m.cut = true
			continue
		}
		unitName, _ := ofFile(name)
		m.want(s.parse(m, unitName, m.files[name]).wants)
	}
	m.join(s.forUsers)
	m.start(names)
	for _, name := range names {
		f := m.files[name]
		if s.late(f) {
			continue
		}
		unitName, dropIn := ofFile(name)
		u := s.parse(m, unitName, f)
		switch {
		case dropIn:
			s.homeUnit(m, f, unitName+": "+path.Base(name), u, nil, s.programsOf(m, unitName, f))
		case isGroup(unitName) && len(u.wants) == 0: // it has nothing started
		case !m.isPassing(unitName, path.Dir(name)) && !s.isListed(path.Dir(name), u):
			s.homeUnit(m, f, unitName, u, m.isEnabled(unitName, path.Dir(name)), s.startedBy(m, unitName, f))
		}
	}
}

// ofFile is the unit that a file is of. A drop-in may be of all of a kind.
func ofFile(name string) (unit string, dropIn bool) {
	if of, ok := strings.CutSuffix(path.Base(path.Dir(name)), ".d"); ok {
		return of, true
	}
	return path.Base(name), false
}

// startedBy are the programs of a unit, and of the one that it starts.
func (s *survey) startedBy(m *manager, unitName string, f file) []string {
	programs := s.programsOf(m, unitName, f)
	if path.Ext(unitName) == ".service" {
		return programs
	}
	started := activated(unitName, s.parse(m, unitName, f))
	if of, ok := m.find(started, path.Dir(f.name)); ok {
		programs = shellscript.Once(slices.Concat(programs, s.programsOf(m, started, of)))
	}
	return programs
}

// programsOf are the programs of a file of a unit, without what files of variables say, and no more than
// show that there are too many.
func (s *survey) programsOf(m *manager, unitName string, f file) []string {
	programs, known := m.runs[f.name]
	if !known {
		var err error
		u := s.parse(m, unitName, f)
		programs, err = u.programs(shellscript.NewReader(u.size))
		s.overlook(f.name, err)
		programs = programs[:min(len(programs), maxPrograms+1)]
		m.runs[f.name] = programs
	}
	return programs
}

func (s *survey) homeUnit(m *manager, f file, name string, u unit, enabled *bool, programs []string) {
	e := startup.Entry{Kind: startup.UserUnit, Name: name, Identity: name, When: strings.Join(u.triggers, ", "), User: m.user.Name, Enabled: enabled}
	s.addUser(m.user, f, e, programs...)
}

// want notes units that a unit has started with it (systemd.unit(5)).
func (m *manager) want(units []string) {
	for _, name := range filesOf(units) {
		m.wanted[name] = true
	}
}

// join adds what starts for every user: a unit of that name in a home stands in its place.
func (m *manager) join(everybody *unitSet) {
	for _, name := range filesOf(slices.Collect(maps.Keys(everybody.enabled))) {
		m.enabled[name] = true
	}
	m.want(slices.Collect(maps.Keys(everybody.absent)))
}

// filesOf are the names of the files of units.
func filesOf(units []string) (names []string) {
	for _, unit := range units {
		names = append(names, namesOf(unit)...)
	}
	return names
}

// start marks as enabled what is started with units that are, and what is started with those in turn. names are
// those of the files.
func (m *manager) start(names []string) {
	with := map[string][]string{}
	for _, name := range names {
		unitName, _ := ofFile(name)
		with[unitName] = append(with[unitName], m.parsed[name].starts(unitName)...)
	}
	for queue := slices.Concat(startedForUsers, slices.Sorted(maps.Keys(m.enabled))); len(queue) > 0; queue = queue[1:] {
		for _, unit := range namesOf(queue[0]) {
			for _, name := range filesOf(with[unit]) {
				if !m.enabled[name] {
					m.enabled[name], queue = true, append(queue, name)
				}
			}
			delete(with, unit) // once is enough
		}
	}
}

// isEnabled reports whether something starts a unit; nil if that is not known, and of [transientUnits] of the user.
func (m *manager) isEnabled(unit, directory string) *bool {
	if !m.enabled[unit] && (m.cut || m.wanted[unit] || isTransient(directory)) {
		return nil
	}
	return new(m.enabled[unit])
}

// isPassing reports whether a unit is one that was started by hand and is gone when it ends.
func (m *manager) isPassing(unit, directory string) bool {
	return isTransient(directory) && path.Ext(unit) == ".service" && !m.enabled[unit] && !m.wanted[unit]
}

func isTransient(directory string) bool {
	return strings.HasPrefix(directory, runtimePlace+"/") && path.Base(directory) == "transient"
}

// generated are the settings of a unit that systemd-xdg-autostart-generator(8) makes.
var generated = []string{"Documentation", "SourcePath", "PartOf", "Description", "After", "Type", "ExitType", "ExecStart", "ExecCondition", "Restart", "TimeoutStopSec", "Slice"}

// conditions are what it has asked before a program is started.
var conditions = []string{"systemd-xdg-autostart-condition", "gnome-systemd-autostart-condition", "kde-systemd-start-condition"}

// isListed reports whether a unit was made of an entry of /etc/xdg/autostart, which is told itself, and
// does what this says and nothing else. The directory is the user's, who may write into it that any
// unit was made of any entry.
func (s *survey) isListed(directory string, u unit) bool {
	if u.foreign || !strings.HasPrefix(directory, runtimePlace+"/") || !strings.HasPrefix(path.Clean(u.source), "/etc/xdg/autostart/") || len(u.commands["ExecStart"]) != 1 {
		return false
	}
	source, ok := s.open(u.source)
	return ok && s.sameCommand(u.commands["ExecStart"][0], s.text(source))
}

func isGenerated(name, value string) bool {
	return slices.Contains(generated, name) && (name != "ExecCondition" || isCondition(value))
}

func isCondition(line string) bool {
	list := execCommands(line)
	if len(list) != 1 {
		return false
	}
	program := path.Clean(list[0][0])
	return slices.Contains(conditions, path.Base(program)) && (strings.HasPrefix(program, "/usr/") || strings.HasPrefix(program, "/lib/"))
}

// sameCommand reports whether a line of a unit runs what a desktop entry does, without the fields that
// are filled in at the start.
func (s *survey) sameCommand(line, desktop string) bool {
	var words []string
	unitfile.DesktopSettings(desktop, "Desktop Entry", func(key, value string) {
		if key == "Exec" {
			words = slices.DeleteFunc(unitfile.Words(value), func(w string) bool { return len(w) == 2 && w[0] == '%' })
		}
	})
	list := execCommands(line)
	if len(words) == 0 || len(list) != 1 || !slices.Equal(words[1:], list[0][1:]) {
		return false
	}
	own := list[0]
	if path.IsAbs(words[0]) {
		return words[0] == own[0]
	}
	if !slices.Contains(searched, path.Dir(own[0])) { // nor is a path of the user's followed
		return false
	}
	real, err := s.resolve(own[0])
	return err == nil && real == s.search(words[0]).real
}
