// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
	"sentinel/platform/unix/sshdconf"
)

// shellFiles are what shells read for everybody.
var shellFiles = []string{
	"/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/bash.bash_logout", "/etc/environment", "/etc/zshenv", "/etc/zprofile", "/etc/zshrc", "/etc/zlogin",
	"/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zsh/zshrc", "/etc/zsh/zlogin", "/etc/fish/config.fish", "/etc/csh.cshrc", "/etc/csh.login", "/etc/ksh.kshrc", "/etc/bash/bashrc", "/etc/ssh/sshrc",
}

// homeFiles are what shells and sessions read for one user.
var homeFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshenv", ".zprofile", ".zshrc", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".login",
	".config/fish/config.fish", ".pam_environment", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".ssh/rc", ".ssh/environment",
}

const (
	userUnitDir  = ".config/systemd/user"
	autostartDir = ".config/autostart"
	busDir       = ".local/share/dbus-1/services"
	maxHomes     = 500
	homeLimit    = time.Second // for one home: it may be on a server that does not answer
	homesAtOnce  = 8
	maxHomeNames = 500 // in a directory of a home
)

// shells finds what shells read for everybody.
func (s *survey) shells() {
	for _, name := range shellFiles {
		if f, ok := s.open(name); ok {
			s.fromTemplate(f, s.add(f, startup.Entry{Kind: startup.ShellStart, Name: path.Base(name), When: "shell", Enabled: new(true)}, scriptPrograms([]byte(s.text(f)))...))
		}
	}
}

// A home is what was read of the home of a user. A reader that hangs goes on filling its own.
type home struct {
	user    userdb.User
	files   map[string]file // by their names below the home
	enabled map[string]bool // units
	unread  []startup.Unread
}

// homes reads the homes side by side. One that does not answer costs its own time only.
func (s *survey) homes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, homesLimit)
	defer cancel()
	users := s.homeUsers()
	keys := s.keyFiles()
	read := make([]*home, len(users))
	var wait sync.WaitGroup
	slots := make(chan struct{}, homesAtOnce)
	for i, u := range users {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			h, err := deadline.Call(ctx, homeLimit, func(context.Context) (*home, error) {
				h := &home{user: u, files: map[string]file{}, enabled: map[string]bool{}}
				return h, s.with(&u, func() { s.readHome(h, keys) })
			})
			if err != nil {
				h = &home{user: u, unread: []startup.Unread{{Path: u.Home, Err: err}}}
			}
			read[i] = h
		})
	}
	wait.Wait()
	s.ctx = ctx
	for _, h := range read {
		s.homeEntries(h, keys)
	}
}

// homeUsers are the accounts with a home of their own, one for each home.
func (s *survey) homeUsers() []userdb.User {
	var list []userdb.User
	seen := map[string]bool{}
	for _, u := range s.users {
		u.Home = path.Clean(u.Home)
		if !path.IsAbs(u.Home) || seen[u.Home] || slices.Contains([]string{"/", "/bin", "/sbin", "/dev", "/proc", "/sys", "/usr/bin", "/usr/sbin", "/nonexistent", "/var/empty"}, u.Home) {
			continue
		}
		seen[u.Home] = true
		if len(list) == maxHomes {
			s.miss("/home", startup.ErrTooMany)
			break
		}
		list = append(list, u)
	}
	return list
}

// keyFiles are the names of files of keys: relative to a home, or absolute with %u for the user.
func (s *survey) keyFiles() []string {
	var list []string
	for _, name := range authkeys.Patterns(s.Root) {
		name = strings.TrimPrefix(name, "%h/")
		if !strings.Contains(name, "%h") && len(list) < 10 {
			list = append(list, name)
		}
	}
	return list
}

// sshd finds the program that sshd asks for keys.
func (s *survey) sshd() {
	c, err := sshdconf.Read(hostfile.Tree{Path: s.path, MaxFile: maxFile, MaxNames: maxNames}, "/etc/ssh/sshd_config")
	command := c.Global["authorizedkeyscommand"]
	if err != nil || command.Value == "" || command.Value == "none" {
		return
	}
	if f, ok := s.open(command.File); ok {
		s.add(f, startup.Entry{
			Kind: startup.PAMProgram, Name: "AuthorizedKeysCommand", Line: command.Line, Identity: "AuthorizedKeysCommand", Content: command.Value, When: "login",
			User: c.Global["authorizedkeyscommanduser"].Value, Enabled: new(true),
		}, shellscript.Command(split(command.Value))...)
	}
}

// readHome reads with the rights of the user and follows no link out of the home. It uses nothing
// of the survey that changes.
func (s *survey) readHome(h *home, keys []string) {
	for _, name := range append(slices.Clone(homeFiles), keys...) {
		if !path.IsAbs(name) {
			s.readInHome(h, name)
		}
	}
	for _, directory := range []string{autostartDir, busDir} {
		for _, name := range s.namesInHome(h, directory) {
			s.readInHome(h, path.Join(directory, name))
		}
	}
	for _, name := range s.namesInHome(h, userUnitDir) {
		s.readUnits(h, name)
	}
}

func (s *survey) readUnits(h *home, name string) {
	file := path.Join(userUnitDir, name)
	switch suffix := path.Ext(name); {
	case suffix == ".wants" || suffix == ".requires":
		for _, unit := range s.namesInHome(h, file) {
			h.enabled[unit] = true
		}
	case suffix == ".d":
		for _, one := range s.namesInHome(h, file) {
			if strings.HasSuffix(one, ".conf") {
				s.readInHome(h, path.Join(file, one))
			}
		}
	case unitKinds[suffix] != "":
		s.readInHome(h, file)
	}
}

func (s *survey) readInHome(h *home, name string) {
	raw, meta, err := hostfile.ReadBelow(s.path(h.user.Home), name, maxFile)
	switch {
	case hostfile.Missing(err):
		return
	case errors.Is(err, hostfile.ErrTooLarge):
		h.files[name] = file{name: path.Join(h.user.Home, name), meta: meta, big: true}
	case err != nil:
		name = path.Join(h.user.Home, name)
		if errors.Is(err, fs.ErrPermission) { // of the directory, which has others
			name = path.Dir(name)
		}
		h.unread = append(h.unread, startup.Unread{Path: name, Err: hostfile.Reason(err)})
	default:
		h.files[name] = file{name: path.Join(h.user.Home, name), raw: raw, meta: meta, open: meta.Mode&0o002 != 0}
	}
}

func (s *survey) namesInHome(h *home, directory string) []string {
	names, err := hostfile.NamesBelow(s.path(h.user.Home), directory, maxHomeNames)
	if err != nil && !hostfile.Missing(err) {
		h.unread = append(h.unread, startup.Unread{Path: path.Join(h.user.Home, directory), Err: hostfile.Reason(err)})
	}
	return names
}

// homeEntries adds what was read of a home.
func (s *survey) homeEntries(h *home, keys []string) {
	if len(h.files) == 0 && len(h.unread) > 0 && h.unread[0].Path != h.user.Home {
		h.unread = []startup.Unread{{Path: h.user.Home, Err: h.unread[0].Err}} // nothing at all could be read
	}
	for _, u := range h.unread {
		s.miss(u.Path, u.Err)
	}
	for _, f := range h.files {
		if !f.big {
			s.digests[f.name] = digest(f.raw)
		}
	}
	for _, name := range homeFiles {
		if f, ok := h.files[name]; ok {
			s.dotFile(h.user, f)
		}
	}
	units := map[string]file{}
	for _, name := range sorted(h.files) {
		f := h.files[name]
		switch directory := path.Dir(name); {
		case directory == autostartDir && strings.HasSuffix(name, ".desktop"):
			e, programs := autostart(path.Base(name), s.text(f))
			e.User = h.user.Name
			s.addUser(h.user, f, e, programs...)
		case directory == busDir && strings.HasSuffix(name, ".service"):
			e, programs := busService(path.Base(name), h.user.Name, s.text(f))
			s.addUser(h.user, f, e, programs...)
		case strings.HasPrefix(name, userUnitDir+"/"):
			units[name] = f
		}
	}
	s.homeUnits(h.user, units, h.enabled)
	s.homeKeys(h, keys)
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
	s.fromTemplate(f, s.addUser(u, f, startup.Entry{Kind: startup.ShellStart, Name: path.Base(f.name), When: "shell", User: u.Name, Enabled: new(true)}, scriptPrograms([]byte(s.text(f)))...))
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
func (s *survey) homeKeys(h *home, names []string) {
	for _, name := range names {
		f, ok := h.files[name]
		if path.IsAbs(name) {
			f, ok = s.open(strings.ReplaceAll(strings.ReplaceAll(name, "%u", h.user.Name), "%U", h.user.Name))
		}
		if !ok {
			continue
		}
		for _, k := range authkeys.Parse([]byte(s.text(f))) {
			s.key(h.user, f, k)
		}
	}
}
