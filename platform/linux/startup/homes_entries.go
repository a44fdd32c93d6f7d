// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/hostfile"
)

// homeEntries adds what was read of a home, but for units.
func (s *survey) homeEntries(h *home, keys []string) {
	if len(h.files) == 0 && len(h.unread) > 0 && !errors.Is(h.unread[0].Err, hostfile.ErrLeadsOut) {
		h.unread = []startup.Unread{{Path: h.place, Err: h.unread[0].Err}} // nothing at all could be read
	}
	for _, u := range h.unread {
		s.miss(u.Path, u.Err)
	}
	for _, f := range h.files {
		if !f.big {
			s.digests[f.name] = digest(f.raw)
		}
	}
	if h.place == h.user.Home {
		s.homeKeys(h, keys)
		s.homeNames(h)
	}
	for _, name := range homeFiles {
		if f, ok := h.files[name]; ok && !s.late(f) {
			s.dotFile(h.user, f)
		}
	}
	for _, name := range sorted(h.files) {
		at := slices.IndexFunc(h.dirs, func(d homeDir) bool { return d.path == path.Dir(name) })
		if at >= 0 && !h.dirs[at].units() && !s.late(h.files[name]) {
			s.homeFile(h.user, h.dirs[at], h.files[name])
		}
	}
	for _, name := range sorted(h.files) {
		if isForward(name) && !s.late(h.files[name]) {
			s.forward(h.user, h.files[name])
		}
	}
}

// forward adds the programs that the mail of a user is given to.
func (s *survey) forward(u userdb.User, f file) {
	list := mailPrograms(s.text(f), s.shell(f))
	if more := len(list) - maxMail; more > 0 {
		s.miss(f.name, fmt.Errorf("programs beyond the first %d: %d", maxMail, more))
		list = list[:maxMail]
	}
	for _, one := range list {
		s.addUser(u, f, startup.Entry{Kind: startup.MailProgram, Name: path.Base(f.name), Line: one.line, Identity: one.content, Content: one.content, When: "mail", User: u.Name, Enabled: new(true)}, one.programs...)
	}
}

// homeFile adds a file in a directory of a user.
func (s *survey) homeFile(u userdb.User, d homeDir, f file) {
	e := startup.Entry{Kind: d.kind, Name: path.Base(f.name), When: d.when, User: u.Name, Enabled: new(!isLeftover(path.Base(f.name)))}
	var programs []string
	switch d.kind {
	case startup.DropIn:
		s.managerSettings(u, f, e)
		return
	case startup.ShellStart: // "*" of a shell stands for what editors leave as well
		e.Enabled = new(!strings.HasPrefix(e.Name, "."))
		if d.path == environmentDir {
			programs = loadedBy(s.text(f), s.shell(f))
		} else {
			programs = sourcedPrograms([]byte(s.text(f)), s.shell(f))
		}
	case startup.Autostart:
		e, programs = autostart(e.Name, s.text(f), s.shell(f))
		e.User = u.Name
	case startup.DBusService:
		e, programs = busService(e.Name, u.Name, s.text(f), s.shell(f))
	case startup.FileRule:
		programs = placedBy(s.text(f), specifiersOf(u), s.shell(f))
	case startup.UserUnit: // what the container runs is in its image
	default:
		programs = sourcedPrograms([]byte(s.text(f)), s.shell(f))
	}
	s.addUser(u, f, e, programs...)
}

// managerSettings adds the settings of the service manager of a user that have every service load something.
func (s *survey) managerSettings(u userdb.User, f file, e startup.Entry) {
	name := e.Name
	for _, one := range managerEnvironment(s.text(f), s.shell(f)) {
		e.Name, e.Identity, e.Content = name+": "+one.name, one.content, one.content
		s.addUser(u, f, e, one.programs...)
	}
}

func sorted(files map[string]file) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// templates hold the files that a new home, and a new /etc, begins with.
var templates = []string{"/etc/skel/", "/usr/share/base-files/dot", "/usr/share/base-files/"}

// dotFile adds a file that a shell reads.
func (s *survey) dotFile(u userdb.User, f file) {
	s.fromTemplate(f, s.addUser(u, f, startup.Entry{Kind: startup.ShellStart, Name: path.Base(f.name), When: "shell", User: u.Name, Enabled: new(true)}, sourcedPrograms([]byte(s.text(f)), s.shell(f))...))
}

// fromTemplate attributes a file that is as its template has it: of those no package owns the copies.
func (s *survey) fromTemplate(f file, e *entry) {
	for _, template := range templates {
		name := template + path.Base(f.name)
		if strings.HasSuffix(template, "base-files/") {
			name = template + strings.TrimPrefix(path.Base(f.name), ".")
		}
		if of, err := hostfile.Read(s.path(name), maxFile); err == nil && !f.big && string(of) == string(f.raw) {
			e.Origin, e.Package = startup.Packaged, path.Dir(name)
		}
	}
}

// homeKeys adds the keys that let a user in.
func (s *survey) homeKeys(h *home, patterns []string) {
	for _, pattern := range patterns {
		f, ok := s.openOf(h, authkeys.Path(pattern, h.user))
		if !ok || s.late(f) {
			continue
		}
		keys := authkeys.Parse([]byte(s.text(f)))
		if err := keys.Unread(); err != nil {
			s.miss(f.name, err)
		}
		for _, k := range keys.Keys {
			s.key(h.user, f, k)
		}
	}
}
