// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/privilege"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

const (
	programLimit  = 300 * time.Millisecond // for a program that may be on another file system
	programsLimit = 3 * time.Second        // for all of them
)

// searched are the directories of cron's and systemd's search path.
var searched = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// systemDirs are on the file system that everything else was read from.
var systemDirs = []string{"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/"}

// A look is what was seen of a program.
type look struct {
	real    string
	missing bool
	open    bool
}

// inspect looks at the programs. A program that a user chose is looked at with the rights of that
// user: what the user may not see, root tells nobody.
func (s *survey) inspect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, programsLimit)
	defer cancel()
	type question struct {
		name string
		uid  int
	}
	known := map[question]look{}
	for _, e := range s.entries {
		e.reals = make([]string, len(e.Programs))
		for i := range e.Programs {
			p := &e.Programs[i]
			q := question{p.Path, 0}
			if e.as != nil {
				q.uid = e.as.UID
			}
			seen, ok := known[q]
			if !ok {
				seen = s.lookAt(ctx, p.Path, e.as)
				known[q] = seen
			}
			if seen.real != "" && !strings.HasPrefix(p.Path, "/") {
				p.Path = seen.real
			}
			p.Missing, p.Writable, e.reals[i] = seen.missing, seen.open, seen.real
		}
	}
}

// lookAt looks at one program. Nothing is known of one that is not found in time, or whose name is
// made up as it is run.
func (s *survey) lookAt(ctx context.Context, name string, as *userdb.User) look {
	if strings.ContainsAny(name, "$%~") {
		return look{}
	}
	if !path.IsAbs(name) {
		return s.search(name)
	}
	if as == nil && slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
		return s.see(name)
	}
	seen, err := deadline.Call(ctx, programLimit, func(context.Context) (seen look, err error) {
		err = s.with(as, func() { seen = s.see(name) })
		return seen, err
	})
	if err != nil {
		return look{}
	}
	return seen
}

// search finds a program by its name.
func (s *survey) search(name string) look {
	if strings.Contains(name, "/") {
		return look{}
	}
	for _, directory := range searched {
		if seen := s.see(path.Join(directory, name)); seen.real != "" {
			return seen
		}
	}
	return look{}
}

// see looks at a file. It uses no state of the survey, because a look that hangs goes on after it.
func (s *survey) see(name string) look {
	real, err := s.resolve(name)
	if err != nil {
		// A path that cannot be entered does not exist for whoever runs it.
		return look{missing: hostfile.Missing(err) || errors.Is(err, fs.ErrPermission) && s.EUID == 0}
	}
	f, err := hostfile.Stat(s.path(real))
	if err != nil {
		return look{}
	}
	return look{real: real, open: f.Mode&0o002 != 0 && (!f.Mode.IsDir() || f.Mode&fs.ModeSticky == 0) || s.loose(path.Dir(real))}
}

// with looks with the rights of a user, on the running system as root; else with those of this run.
func (s *survey) with(u *userdb.User, f func()) error {
	if u == nil || u.UID == s.Owner || !s.live() || s.EUID != 0 {
		f()
		return nil
	}
	who := privilege.Identity{UID: u.UID, GID: u.GID}
	for _, g := range s.groups {
		if slices.Contains(g.Members, u.Name) {
			who.Groups = append(who.Groups, g.GID)
		}
	}
	return privilege.Look(who, f)
}
