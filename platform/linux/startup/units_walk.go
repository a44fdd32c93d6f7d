// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
)

const (
	maxUnitName = 255  // bytes (UNIT_NAME_MAX in systemd's unit-name.h)
	maxWanted   = 2000 // units of one manager that others have started, beside those that are enabled
)

// wanted marks as enabled, and returns, what units have started, and what those have in turn. That a unit is in the
// folder of a vendor does not say that a vendor put it there. Instances may want others of their template without end.
func (s *survey) wanted(set *unitSet, names []string) (more []string) {
	slices.Sort(names)
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	names = slices.Clone(names)
	for unit := range set.dropIns {
		names = append(names, unit)
	}
	for queue := names; len(queue) > 0; queue = queue[1:] {
		for _, name := range s.startedWith(set, queue[0]) {
			file, _ := set.find(name)
			if file == "" {
				set.absent[name] = true
			}
			if file == "" || set.masked[name] || known[name] && (set.enabled[name] || !set.enabled[queue[0]]) {
				continue
			}
			if !known[name] {
				more = append(more, name)
			}
			known[name], set.enabled[name] = true, true
			queue = append(queue, name)
		}
		if len(more) > maxWanted {
			file, _ := set.find(queue[0])
			s.miss(file, startup.ErrTooMany)
			break
		}
	}
	slices.Sort(more)
	return more
}

// startedWith are the canonical names of the units that a unit has started: with it, or at a time, a connection or an
// event.
func (s *survey) startedWith(set *unitSet, name string) (list []string) {
	for _, name := range s.effective(set, name).starts(name) {
		if len(name) <= maxUnitName {
			list = append(list, set.canonical(strings.Replace(name, "@%i.", "@.", 1))) // of a template
		}
	}
	return list
}

// starts are the names of the units that a unit of this name has started.
func (u unit) starts(name string) []string {
	switch unitKinds[path.Ext(name)] {
	case startup.Timer, startup.Socket, startup.PathUnit:
		return append(slices.Clone(u.wants), activated(name, u))
	default:
		return u.wants
	}
}

// activated is the unit that a timer, socket or path starts, of a socket beside programs of its own.
func activated(name string, u unit) string {
	before := strings.TrimSuffix(name, path.Ext(name))
	switch {
	case u.accepts: // systemd.socket(5)
		return before + "@.service"
	case u.activates != "":
		return u.activates
	default:
		return before + ".service"
	}
}

// effective is a unit with its drop-ins.
func (s *survey) effective(set *unitSet, name string) unit {
	from, names := set.find(name)
	u := unit{specifiers: set.specifiers, fragment: from}
	if f, ok := s.open(from); from != "" && ok {
		u.read(name, s.text(f))
	}
	for _, n := range names {
		for _, dropIn := range set.dropIns[n] {
			if f, ok := s.open(dropIn); ok {
				u.read(name, s.text(f))
			}
		}
	}
	return u
}
