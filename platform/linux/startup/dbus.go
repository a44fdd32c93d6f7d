// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/shellscript"
)

// A bus starts services when somebody calls them (dbus-daemon(1)).
type bus struct {
	user     string   // as whom they run; "" is whose bus it is
	folders  []string // of the files of services
	settings []string // files that may name more folders, and directories with a slash at the end
}

var (
	systemBus = bus{
		"root",
		unitfile.SystemBusServices,
		[]string{"/usr/share/dbus-1/system.conf", "/etc/dbus-1/system.conf", "/etc/dbus-1/system-local.conf", "/usr/share/dbus-1/system.d/", "/etc/dbus-1/system.d/"},
	}
	sessionBus = bus{
		"",
		[]string{"/etc/dbus-1/services", "/usr/local/share/dbus-1/services", "/usr/share/dbus-1/services", "/var/lib/flatpak/exports/share/dbus-1/services"},
		[]string{"/usr/share/dbus-1/session.conf", "/etc/dbus-1/session.conf", "/etc/dbus-1/session-local.conf", "/usr/share/dbus-1/session.d/", "/etc/dbus-1/session.d/"},
	}
)

// dbus finds services that the buses start. Those of units run what these do.
func (s *survey) dbus() {
	for _, of := range []struct {
		bus   bus
		units *unitSet
	}{{systemBus, s.forSystem}, {sessionBus, s.forUsers}} {
		s.busServices(of.bus, func(f file, name string) {
			e, programs := busService(name, of.bus.user, s.text(f), s.shell(f))
			if e.Detail != "" {
				s.busUnit(of.units, f, e, programs)
			} else if !s.isTold(f, e) {
				s.add(f, e, programs...)
			}
		})
	}
}

// isTold reports whether an entry was added before, as one of another bus whose folder has a link to its file.
func (s *survey) isTold(f file, e startup.Entry) bool {
	return slices.ContainsFunc(s.entries, func(o *entry) bool {
		return o.File == f.name && o.Kind == e.Kind && o.Name == e.Name && o.User == e.User && o.Detail == e.Detail
	})
}

// busUnit adds a service that a unit runs. A unit of users may be in a home, and without systemd the bus runs the
// programs itself: neither is off where there is no such unit here.
func (s *survey) busUnit(units *unitSet, f file, e startup.Entry, programs []string) {
	if file, _ := units.find(e.Detail); file == "" && len(programs) == 0 && units == s.forSystem {
		e.Enabled = new(false)
	}
	more, err := s.programs(s.effective(units, e.Detail))
	s.add(f, e, shellscript.Once(append(programs, more...))...)
	s.overlook(f.name, err)
}

// busWants are the units that calls on a bus start.
func (s *survey) busWants(b bus) (units []string) {
	s.busServices(b, func(f file, name string) {
		if e, _ := busService(name, b.user, s.text(f), shellscript.NewReader(len(f.raw))); e.Detail != "" {
			units = append(units, e.Detail)
		}
	})
	return units
}

// busServices calls use for each file of a service of a bus.
func (s *survey) busServices(b bus, use func(f file, name string)) {
	seen := map[string]bool{}
	for _, directory := range slices.Concat(b.folders, s.busFolders(b)) {
		real, names := s.once(seen, directory)
		for _, name := range names {
			if !strings.HasSuffix(name, ".service") {
				continue
			}
			if f, ok := s.open(path.Join(real, name)); ok {
				use(f, name)
			}
		}
	}
}

// busFolders are the further folders of services that the settings of a bus name, and those of files that they include.
func (s *survey) busFolders(b bus) (folders []string) {
	seen := map[string]bool{}
	for queue := slices.Clone(b.settings); len(queue) > 0; queue = queue[1:] {
		if len(seen) > maxNames {
			s.miss(queue[0], startup.ErrTooMany)
			break
		}
		if directory, ok := strings.CutSuffix(queue[0], "/"); ok {
			_, names := s.once(seen, directory)
			for _, name := range names {
				if strings.HasSuffix(name, ".conf") {
					queue = append(queue, path.Join(directory, name))
				}
			}
			continue
		}
		f, ok := s.open(queue[0])
		if !ok || seen[f.name] {
			continue
		}
		seen[f.name] = true
		more, included, err := busSettings(path.Dir(queue[0]), s.text(f))
		if err != nil {
			s.miss(f.name, err)
		}
		folders, queue = append(folders, more...), append(queue, included...)
	}
	return folders
}

// busSettings reads what settings of a bus name, beside their own directory where a name is not a whole path. Comments
// within a name are no part of it.
func busSettings(beside, text string) (folders, included []string, err error) {
	var settings struct {
		Folders     []string `xml:"servicedir"`
		Files       []string `xml:"include"`
		Directories []string `xml:"includedir"`
	}
	if err = xml.Unmarshal([]byte(text), &settings); errors.Is(err, io.EOF) { // without any element
		err = nil
	}
	for _, directory := range besideAll(beside, settings.Directories) {
		included = append(included, directory+"/")
	}
	return besideAll(beside, settings.Folders), append(included, besideAll(beside, settings.Files)...), err
}

// besideAll are names as whole paths, those that are none in a directory. Blank ones name nothing.
func besideAll(directory string, names []string) (list []string) {
	for _, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case path.IsAbs(name):
			list = append(list, name)
		case name != "":
			list = append(list, path.Join(directory, name))
		}
	}
	return list
}

func busService(name, user, text string, sh *shellscript.Reader) (startup.Entry, []string) {
	e := startup.Entry{Kind: startup.DBusService, Name: strings.TrimSuffix(name, ".service"), When: "a call on the bus", User: user, Enabled: new(true)}
	var programs []string
	unitfile.DesktopSettings(text, unitfile.BusService, func(key, value string) {
		switch key {
		case "Exec": // the bus takes the first, others the last
			programs = append(programs, sh.Command(unitfile.Words(value))...)
		case "User":
			e.User = value
		case "SystemdService":
			e.Detail = value
		}
	})
	if e.Detail != "" { // systemd starts the unit
		programs = slices.DeleteFunc(programs, func(p string) bool { return p == "/bin/false" || p == "/usr/bin/false" })
	}
	return e, shellscript.Once(programs)
}
