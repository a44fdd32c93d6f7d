// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/privilege"
	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/darwin/plist"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/crontab"
	"sentinel/platform/unix/hostfile"
)

func itoa(n int) string { return strconv.Itoa(n) }

// cron finds the tables of cron(8) and jobs of at(1).
func (s *survey) cron() {
	s.table("/etc/crontab", crontab.System, "")
	for _, name := range s.names("/usr/lib/cron/tabs") {
		if !strings.HasPrefix(name, "tmp.") && !strings.HasPrefix(name, ".") {
			s.table("/usr/lib/cron/tabs/"+name, crontab.Personal, name)
		}
	}
	for _, name := range s.names("/usr/lib/cron/jobs") {
		if strings.HasPrefix(name, ".") || name == "LOCKFILE" {
			continue
		}
		if f, ok := s.open("/usr/lib/cron/jobs/" + name); ok {
			s.add(f, startup.Entry{Kind: startup.AtJob, Name: name, When: "once", User: s.owner(f.meta.UID), Enabled: new(true), Origin: startup.NoPackage}, f.shell.Programs(string(f.raw))...)
		}
	}
}

func (s *survey) table(name string, form crontab.Form, user string) {
	f, ok := s.open(name)
	if !ok {
		return
	}
	table := crontab.Parse(f.raw, form)
	if err := table.Unread(); err != nil {
		s.miss(name, err)
	}
	if table.Left != "" {
		s.add(f, startup.Entry{Kind: startup.CronJob, Name: path.Base(name) + ": what is not read", Identity: "unread", Content: table.Left, User: user, By: by(user), Origin: startup.NoPackage})
	}
	for _, v := range table.Variables {
		s.add(f, startup.Entry{
			Kind: startup.CronJob, Name: path.Base(name) + ": " + v.Name, Line: v.Line, Identity: v.Name, Content: v.Value, When: "with each job below it", User: user, By: by(user), Enabled: new(true), Origin: startup.NoPackage,
		}, f.shell.Command(v.Words())...)
	}
	for _, j := range table.Entries {
		if j.User == "" {
			j.User = user
		}
		if j.Path != "" {
			f.shell.UseCustomPath()
		}
		s.add(f, startup.Entry{
			Kind: startup.CronJob, Name: path.Base(name), Line: j.Line, Identity: j.Identity(), Content: j.Identity(), When: j.When, User: j.User, By: by(user), Enabled: new(true), Origin: startup.NoPackage,
		}, f.shell.Fed(j.Command, j.Input)...)
	}
}

// scripts finds what periodic(8) and shells run for everybody, and what the login window runs.
func (s *survey) scripts() {
	for _, d := range []string{"/etc/periodic", "/usr/local/etc/periodic"} {
		for _, when := range []string{"daily", "weekly", "monthly"} {
			for _, name := range s.names(d + "/" + when) {
				s.script(startup.CronScript, d+"/"+when+"/"+name, when)
			}
		}
	}
	for _, name := range []string{"/etc/profile", "/etc/bashrc", "/etc/zshenv", "/etc/zprofile", "/etc/zshrc", "/etc/zlogin", "/etc/csh.cshrc", "/etc/csh.login", "/etc/ssh/sshrc"} {
		s.script(startup.ShellStart, name, "shell")
	}
	s.script(startup.BootScript, "/etc/rc.local", "boot")
	for _, name := range []string{"/Library/Preferences/com.apple.loginwindow.plist", "/var/root/Library/Preferences/com.apple.loginwindow.plist"} {
		s.loginHooks(name)
	}
}

// script adds a script. macOS ships some of them, and nothing says in which form.
func (s *survey) script(kind startup.Kind, name, when string) {
	if f, ok := s.open(name); ok {
		s.add(f, startup.Entry{Kind: kind, Name: path.Base(name), When: when, Enabled: new(kind == startup.ShellStart || f.meta.Mode&0o111 != 0)}, f.shell.Programs(string(f.raw))...)
	}
}

func (s *survey) loginHooks(name string) {
	f, ok := s.open(name)
	if !ok {
		return
	}
	var hooks struct{ LoginHook, LogoutHook string }
	if err := plist.Decode(f.raw, &hooks); err != nil {
		s.miss(name, err)
		return
	}
	for when, program := range map[string]string{"login": hooks.LoginHook, "logout": hooks.LogoutHook} {
		if program != "" {
			s.add(f, startup.Entry{Kind: startup.LoginHook, Name: when, Identity: when, Content: program, When: when, User: "root", Enabled: new(true), Origin: startup.NoPackage}, f.shell.Programs(program)...)
		}
	}
}

// homeFiles are what shells read for one user.
var homeFiles = []string{".zshenv", ".zprofile", ".zshrc", ".zlogin", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".config/fish/config.fish", ".ssh/rc", ".ssh/environment"}

const (
	agentsDir   = "Library/LaunchAgents"
	homeLimit   = time.Second            // for reading one home
	parseLimit  = 300 * time.Millisecond // for what was read of it
	parsesLimit = 2 * time.Second        // for that of all
	homeBytes   = 8 << 20                // kept of one home: a sparse file costs its user no disk
	maxHung     = 3                      // homes that may not answer before the others are left out
	staff       = 20
)

// A home is what was read of one. A reader that hangs goes on filling its own.
type home struct {
	files  []file
	unread []startup.Unread
}

// homes reads each home with the rights of its user. What takes long to parse costs its own user.
func (s *survey) homes(ctx context.Context) {
	keys, err := authkeys.Patterns(s.Root)
	if err != nil {
		s.miss(authkeys.Config, err)
	}
	parses, cancel := context.WithTimeout(ctx, parsesLimit)
	defer cancel()
	hung := 0
	for _, a := range s.accounts {
		below, others := keyFiles(a, keys)
		for _, name := range others {
			if f, ok := s.open(name); ok {
				s.keys(a, f)
			}
		}
		if hung == maxHung {
			s.miss(a.home, errors.New("homes before it did not answer in time"))
			continue
		}
		h, err := deadline.Call(ctx, homeLimit, func(ctx context.Context) (*home, error) {
			h := &home{}
			err := s.as(a, func() { s.readHome(ctx, h, a.home, slices.Concat(homeFiles, below)) })
			return h, cmp.Or(err, ctx.Err())
		})
		if err != nil {
			hung++
			s.miss(a.home, err)
			continue
		}
		s.homeEntries(parses, a, h)
	}
}

// keyFiles are those with the keys of an account: in its home, without that, and elsewhere.
func keyFiles(a account, patterns []string) (below, others []string) {
	for _, pattern := range patterns {
		name := authkeys.Path(pattern, userdb.User{Name: a.name, UID: a.uid, Home: a.home})
		if inHome, ok := strings.CutPrefix(name, a.home+"/"); ok {
			below = append(below, inHome)
		} else {
			others = append(others, name)
		}
	}
	return below, others
}

func (s *survey) as(a account, look func()) error {
	if s.Root != "/" || s.EUID != 0 || a.uid == s.Owner {
		look()
		return nil
	}
	return privilege.Look(privilege.Identity{UID: a.uid, GID: staff}, look)
}

func (s *survey) readHome(ctx context.Context, h *home, directory string, names []string) {
	agents, err := hostfile.NamesBelow(s.path(directory), agentsDir, maxNames)
	if err != nil && !hostfile.Missing(err) {
		h.unread = append(h.unread, startup.Unread{Path: path.Join(directory, agentsDir), Err: hostfile.Reason(err)})
	}
	for _, name := range agents {
		if strings.HasSuffix(name, ".plist") {
			names = append(names, path.Join(agentsDir, name))
		}
	}
	left := homeBytes
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		raw, meta, err := hostfile.ReadBelow(s.path(directory), name, min(maxFile, left))
		full := path.Join(directory, name)
		switch {
		case err == nil:
			left -= len(raw)
			h.files = append(h.files, fileOf(full, raw, meta))
		case errors.Is(err, fs.ErrPermission):
			h.unread = append(h.unread, startup.Unread{Path: path.Dir(full), Err: hostfile.Reason(err)})
		case !hostfile.Missing(err):
			h.unread = append(h.unread, startup.Unread{Path: full, Err: hostfile.Reason(err)})
		}
	}
}

func (s *survey) homeEntries(ctx context.Context, a account, h *home) {
	ctx, cancel := context.WithTimeout(ctx, parseLimit)
	defer cancel()
	for _, u := range h.unread {
		s.miss(u.Path, u.Err)
	}
	for _, f := range h.files {
		name := strings.TrimPrefix(f.name, a.home+"/")
		switch {
		case ctx.Err() != nil:
			s.miss(f.name, ctx.Err())
		case strings.HasPrefix(name, agentsDir+"/"):
			s.job(f, startup.Agent, a.name, nil)
		case slices.Contains(homeFiles, name):
			s.add(f, startup.Entry{Kind: startup.ShellStart, Name: path.Base(name), When: "shell", User: a.name, By: by(a.name), Enabled: new(true), Origin: startup.NoPackage}, f.shell.Programs(string(f.raw))...)
		default:
			s.keys(a, f)
		}
	}
}

func (s *survey) keys(a account, f file) {
	list := authkeys.Parse(f.raw)
	if err := list.Unread(); err != nil {
		s.miss(f.name, err)
	}
	for _, k := range list.Keys {
		s.key(a, f, k)
	}
}

func (s *survey) key(a account, f file, k authkeys.Key) {
	command, options := k.Command()
	e := startup.Entry{
		Kind: startup.AuthorizedKey, Name: strings.TrimSpace(k.Type + " " + k.Comment), Identity: a.name + " " + k.Fingerprint, Content: k.Options + " ", When: "ssh", User: a.name, By: by(a.name),
		Detail: strings.Join(append([]string{k.Fingerprint}, options...), ", "), Enabled: new(true), Origin: startup.NoPackage,
	}
	if command != "" {
		e.Warnings = []startup.Warning{startup.ForcedCommand}
	}
	s.add(f, e, f.shell.Programs(command)...)
}
