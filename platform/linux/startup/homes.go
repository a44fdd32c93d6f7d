// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/hostfile"
)

// shellFiles are what shells read for everybody.
var shellFiles = []string{
	"/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/bash.bash_logout", "/etc/environment", "/etc/zshenv", "/etc/zprofile", "/etc/zshrc", "/etc/zlogin",
	"/etc/zlogout",
	"/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zsh/zshrc", "/etc/zsh/zlogin", "/etc/zsh/zlogout", "/etc/fish/config.fish", "/etc/csh.cshrc", "/etc/csh.login", "/etc/csh.logout", "/etc/profile.local", "/etc/bash.bashrc.local", "/etc/ksh.kshrc", "/etc/bash/bashrc", "/etc/ssh/sshrc",
}

// homeFiles are what shells and sessions read for one user.
var homeFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", // bash(1)
	".bash_aliases", ".bash_completion", ".config/bash_completion", // .bashrc of Debian, bash_completion
	".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout", // zsh(1)
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", // ksh(1), mksh(1), tcsh(1)
	".config/fish/config.fish",                                                                                           // fish(1)
	".pam_environment",                                                                                                   // pam_env.conf(5)
	".xprofile", ".xsession", ".Xsession", ".xsessionrc", ".xinputrc", ".xinitrc", ".xserverrc", ".Xclients", ".gnomerc", // Xsession(5), xinit(1)
	".ssh/rc", ".ssh/environment", // sshd(8)
	".i18n", // lang.sh of Fedora
}

// A homeDir is a directory of a user from whose files something starts.
type homeDir struct {
	path   string // below the home
	suffix string // of the files that count; "" is any
	kind   startup.Kind
	when   string
}

var homeDirs = []homeDir{
	{".config/autostart", ".desktop", startup.Autostart, "graphical login"},                                      // Desktop Application Autostart Specification
	{".local/share/dbus-1/services", ".service", startup.DBusService, "a call on the bus"},                       // dbus-daemon(1)
	{".local/share/flatpak/exports/share/dbus-1/services", ".service", startup.DBusService, "a call on the bus"}, // flatpak(1)
	{".config/systemd", "user.conf", startup.DropIn, "every service of the user"},                                // systemd-system.conf(5)
	{".config/systemd/user.conf.d", ".conf", startup.DropIn, "every service of the user"},                        // systemd-system.conf(5)
	{".bashrc.d", "", startup.ShellStart, "shell"},                                                               // .bashrc of Fedora
	{".zshrc.d", "", startup.ShellStart, "shell"},                                                                // .zshrc of distributions
	{".local/share/bash-completion/completions", "", startup.ShellStart, "completion"},                           // bash_completion
	{".config/fish/functions", ".fish", startup.ShellStart, "shell"},                                             // fish(1)
	{".config/fish/completions", ".fish", startup.ShellStart, "completion"},                                      // fish(1)
	{".local/share/fish/vendor_functions.d", ".fish", startup.ShellStart, "shell"},                               // fish(1)
	{".local/share/fish/vendor_completions.d", ".fish", startup.ShellStart, "completion"},                        // fish(1)
	{".config/plasma-workspace/shutdown", "", startup.LoginScript, "graphical logout"},                           // startplasma of KDE
	{".config/environment.d", ".conf", startup.ShellStart, "login"},                                              // environment.d(5)
	{".config/fish/conf.d", ".fish", startup.ShellStart, "shell"},                                                // fish(1)
	{".local/share/fish/vendor_conf.d", ".fish", startup.ShellStart, "shell"},                                    // fish(1)
	{".config/plasma-workspace/env", ".sh", startup.LoginScript, "graphical login"},                              // startplasma of KDE
	{".config/autostart-scripts", "", startup.LoginScript, "graphical login"},                                    // of KDE
	{".config/user-tmpfiles.d", ".conf", startup.FileRule, "login"},                                              // tmpfiles.d(5)
	{".local/share/user-tmpfiles.d", ".conf", startup.FileRule, "login"},                                         // tmpfiles.d(5)
	{".config/containers/systemd", "", startup.UserUnit, "login"},                                                // podman-systemd.unit(5)
	{".config/systemd/user.control", "", "", ""},                                                                 // systemd.unit(5), for this and the next two
	{".config/systemd/user", "", "", ""},
	{".local/share/systemd/user", "", "", ""},
	{".local/share/flatpak/exports/share/systemd/user", "", "", ""}, // flatpak(1)
}

// runtimeDirs are those below the runtime directory of a user (systemd.unit(5), tmpfiles.d(5), dbus-daemon(1)).
var runtimeDirs = []homeDir{
	{"systemd/user.control", "", "", ""},
	{"systemd/transient", "", "", ""},
	{"systemd/generator.early", "", "", ""},
	{"systemd/user", "", "", ""},
	{"systemd/generator", "", "", ""},
	{"systemd/generator.late", "", "", ""},
	{"user-tmpfiles.d", ".conf", startup.FileRule, "login"},
	{"dbus-1/services", ".service", startup.DBusService, "a call on the bus"},
}

// units reports whether the directory holds units of the service manager of the user.
func (d homeDir) units() bool { return d.kind == "" }

const (
	forwardFile  = ".forward" // aliases(5)
	runtimePlace = "/run/user"
	maxHomes     = 500
	homeLimit    = time.Second // for one home: it may be on a server that does not answer
	homesAtOnce  = 8
	parseLimit   = 300 * time.Millisecond // for what was read of one home, and for the units of one user
	parsesLimit  = 2 * time.Second        // for all of them
	maxHomeNames = 500                    // in a directory of a home
	maxInHome    = 5000                   // in a home itself
	maxMail      = 1000                   // programs that mail is given to
	homeBytes    = 8 << 20                // of one home, its names included: a sparse file costs its user no disk
	allBytes     = 64 << 20               // of all homes; each has its share, which no other home can use up
	nameBytes    = 256                    // what a name takes beside its content
)

// shells finds what shells read for everybody.
func (s *survey) shells() {
	for _, name := range shellFiles {
		if f, ok := s.open(name); ok {
			s.fromTemplate(f, s.add(f, startup.Entry{Kind: startup.ShellStart, Name: path.Base(name), When: "shell", Enabled: new(true)}, sourcedPrograms([]byte(s.text(f)), s.shell(f))...))
		}
	}
}

// A home is what was read of the home of a user, or of the runtime directory. A reader that hangs goes
// on filling its own.
type home struct {
	user    userdb.User
	place   string          // the directory
	dirs    []homeDir       // below it
	single  []string        // files below it
	files   map[string]file // by their names below the home
	enabled map[string]bool // units
	unread  []startup.Unread
	left    int  // bytes that may still be kept
	cut     bool // not all was read
}

// errHome reports a home of which the rest was left out.
var errHome = errors.New("its files are larger together than expected: not all were read")

// spend counts what is kept.
func (h *home) spend(bytes int) {
	h.left = max(0, h.left-bytes)
	if h.left == 0 {
		h.leaveOut()
	}
}

// leaveOut notes, once, that not all is kept.
func (h *home) leaveOut() {
	if !h.cut {
		h.cut = true
		h.unread = append(h.unread, startup.Unread{Path: h.place, Err: errHome})
	}
}

// homes reads the homes side by side. One that does not answer costs its own time only.
func (s *survey) homes(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, homesLimit)
	defer cancel()
	keys, _ := authkeys.Patterns(s.Root)          //nolint:errcheck // said of its file by sshd
	s.principals, _ = authkeys.Principals(s.Root) //nolint:errcheck // the same
	read := append(s.userHomes(keys), s.runtimes()...)
	var wait sync.WaitGroup
	slots := make(chan struct{}, homesAtOnce)
	for i, empty := range read {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			h, err := deadline.Call(reading, homeLimit, func(ctx context.Context) (*home, error) {
				h := *empty
				h.files, h.enabled = map[string]file{}, map[string]bool{}
				h.left = min(homeBytes, allBytes/len(read))
				err := s.with(&h.user, func() { s.readHome(ctx, &h) })
				return &h, cmp.Or(err, ctx.Err())
			})
			if err != nil {
				h = empty
				h.cut = true
				h.unread = []startup.Unread{{Path: h.place, Err: err}}
			}
			read[i] = h
		})
	}
	wait.Wait()
	s.parseHomes(ctx, read, keys)
}

// parseHomes adds what was read, the smallest homes first: what takes long to parse costs its own user.
func (s *survey) parseHomes(ctx context.Context, read []*home, keys []string) {
	ctx, cancel := context.WithTimeout(ctx, parsesLimit)
	defer cancel()
	slices.SortStableFunc(read, func(a, b *home) int { return cmp.Compare(a.size(), b.size()) })
	managers := map[int]*manager{}
	for _, h := range read {
		s.parseFor(ctx, func() { s.homeEntries(h, keys) })
		if managers[h.user.UID] == nil {
			managers[h.user.UID] = newManager(h.user)
		}
		managers[h.user.UID].take(h)
	}
	smallest := func(a, b int) int { return cmp.Or(cmp.Compare(managers[a].size, managers[b].size), cmp.Compare(a, b)) }
	for _, uid := range slices.SortedFunc(maps.Keys(managers), smallest) {
		s.parseFor(ctx, func() { s.homeUnits(managers[uid]) })
		delete(managers, uid) // of one user after the other, much may have been made of the files
	}
}

// parseFor parses files of one user, for a bounded time.
func (s *survey) parseFor(ctx context.Context, parse func()) {
	ctx, cancel := context.WithTimeout(ctx, parseLimit)
	defer cancel()
	s.ctx = ctx
	parse()
}

// late reports whether there is no more time for a file, and notes its place.
func (s *survey) late(f file) bool {
	err := s.ctx.Err()
	if err != nil {
		s.miss(cmp.Or(f.place, f.name), err)
	}
	return err != nil
}

// size is how many bytes were read of a home.
func (h *home) size() (bytes int) {
	for _, f := range h.files {
		bytes += len(f.raw)
	}
	return bytes
}

// userHomes are the homes of the accounts that have one of their own, to be read; each once.
func (s *survey) userHomes(keys []string) []*home {
	var list []*home
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
		single := slices.Concat(homeFiles, nameFiles)
		for _, pattern := range slices.Concat(keys, s.principals) {
			if below, ok := strings.CutPrefix(authkeys.Path(pattern, u), u.Home+"/"); ok {
				single = append(single, below)
			}
		}
		list = append(list, &home{user: u, place: u.Home, dirs: homeDirs, single: single})
	}
	return list
}

// runtimes are the runtime directories of the users who have one, which is theirs (pam_systemd(8)).
// Accounts of a directory service have one, too.
func (s *survey) runtimes() []*home {
	var list []*home
	for _, name := range s.names(runtimePlace) {
		place := path.Join(runtimePlace, name)
		f, err := hostfile.Lstat(s.path(place))
		uid, bad := strconv.Atoi(name)
		if err != nil || bad != nil || !f.Mode.IsDir() || s.live() && f.UID != uid {
			continue
		}
		if len(list) == maxHomes {
			s.miss(runtimePlace, startup.ErrTooMany)
			break
		}
		list = append(list, &home{user: s.account(s.owner(uid), uid, f.GID), place: place, dirs: runtimeDirs})
	}
	return list
}

// readHome reads with the rights of the user and follows no link out of the home. It uses nothing
// of the survey that changes, and stops when nobody waits for it any more.
func (s *survey) readHome(ctx context.Context, h *home) {
	for _, name := range h.single {
		s.readInHome(ctx, h, name)
	}
	if h.place == h.user.Home {
		s.readForwards(ctx, h)
	}
	for _, d := range h.dirs {
		for _, name := range s.namesInHome(ctx, h, d.path) {
			switch {
			case d.units():
				s.readUnits(ctx, h, path.Join(d.path, name))
			case strings.HasSuffix(name, d.suffix):
				s.readInHome(ctx, h, path.Join(d.path, name))
			}
		}
	}
}

// readForwards reads what says where mail goes: for an address with an extension there is a file of its own
// (local(8) of Postfix). Of the other names in a home nothing is kept.
func (s *survey) readForwards(ctx context.Context, h *home) {
	if ctx.Err() != nil {
		return
	}
	names, err := hostfile.NamesBelow(s.path(h.place), ".", maxInHome)
	if err != nil && !slices.Contains(names, forwardFile) {
		names = append(names, forwardFile) // which may be read where the others cannot be listed
	}
	if err != nil && !hostfile.Missing(err) {
		h.unread = append(h.unread, startup.Unread{Path: path.Join(h.place, forwardFile+"+"), Err: hostfile.Reason(err)})
	}
	for _, name := range names {
		if isForward(name) {
			s.readInHome(ctx, h, name)
		}
	}
}

// isForward reports whether mail is forwarded by a file: of the account, or of one of its addresses "NAME+EXTENSION"
// or "NAME-EXTENSION".
func isForward(name string) bool {
	extension, ok := strings.CutPrefix(name, forwardFile)
	return ok && (extension == "" || strings.IndexByte("+-", extension[0]) >= 0)
}

// readUnits reads a name in a directory of units.
func (s *survey) readUnits(ctx context.Context, h *home, file string) {
	switch suffix := path.Ext(file); {
	case h.left == 0 && unitKinds[suffix] == "": // its lists would have no end
	case slices.Contains(wantedBy, suffix):
		for _, unit := range s.namesInHome(ctx, h, file) {
			h.enabled[unit] = true
		}
	case suffix == ".d":
		for _, one := range s.namesInHome(ctx, h, file) {
			if strings.HasSuffix(one, ".conf") {
				s.readInHome(ctx, h, path.Join(file, one))
			}
		}
	case unitKinds[suffix] != "" || isGroup(file):
		s.readInHome(ctx, h, file)
	}
}

func (s *survey) readInHome(ctx context.Context, h *home, name string) {
	if ctx.Err() != nil {
		return
	}
	limit := min(maxFile, h.left)
	raw, meta, err := hostfile.ReadBelow(s.path(h.place), name, limit)
	switch {
	case hostfile.Missing(err):
		return
	case errors.Is(err, hostfile.ErrTooLarge):
		if limit < maxFile && meta.Size <= maxFile { // for the sake of the others only
			h.leaveOut()
		}
		h.files[name] = file{name: path.Join(h.place, name), meta: meta, big: true, place: h.place}
	case err != nil:
		name = path.Join(h.place, name)
		if errors.Is(err, fs.ErrPermission) { // of the directory, which has others
			name = path.Dir(name)
		}
		h.unread = append(h.unread, startup.Unread{Path: name, Err: hostfile.Reason(err)})
	default:
		h.spend(len(raw))
		h.files[name] = file{name: path.Join(h.place, name), raw: raw, meta: meta, open: meta.Mode&0o002 != 0, place: h.place}
	}
}

func (s *survey) namesInHome(ctx context.Context, h *home, directory string) []string {
	if ctx.Err() != nil {
		return nil
	}
	names, err := hostfile.NamesBelow(s.path(h.place), directory, maxHomeNames)
	if err != nil && !hostfile.Missing(err) {
		h.unread = append(h.unread, startup.Unread{Path: path.Join(h.place, directory), Err: hostfile.Reason(err)})
	}
	for _, name := range names {
		h.spend(len(name) + nameBytes)
	}
	return names
}

// homeEntries adds what was read of a home, but for units.
func (s *survey) homeEntries(h *home, keys []string) {
	if len(h.files) == 0 && len(h.unread) > 0 {
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
	if h.place == h.user.Home {
		s.homeKeys(h, keys)
		s.homeNames(h)
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
		programs = sourcedPrograms([]byte(s.text(f)), s.shell(f))
	case startup.Autostart:
		e, programs = autostart(e.Name, s.text(f), s.shell(f))
		e.User = u.Name
	case startup.DBusService:
		e, programs = busService(e.Name, u.Name, s.text(f), s.shell(f))
	case startup.FileRule:
		programs = fileRules(s.text(f), s.shell(f))[0].programs
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
