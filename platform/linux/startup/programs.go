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

	"sentinel/internal/privilege"
	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/stuck"
)

const (
	programLimit = 300 * time.Millisecond // for a program that may be on another file system
	systemLimit  = 2 * time.Second        // for all that the system starts
	usersLimit   = 2 * time.Second        // for all that users start
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
	err     error // why nothing was
}

// A question is a program of an entry.
type question struct {
	entry *entry
	at    int
}

// A turn is what is still to be looked at of what one user starts.
type turn struct {
	user  string
	left  []question
	spent time.Duration // on what was looked at
}

// next is that of the user on whom least was spent, nil if nothing is left: programs that are slow to look
// at delay those of the same user.
func next(turns []*turn) *turn {
	var least *turn
	for _, t := range turns {
		if len(t.left) > 0 && (least == nil || t.spent < least.spent) {
			least = t
		}
	}
	return least
}

// inspect looks at the programs, at those that the system starts first. Programs that a user chose are
// looked at with the rights of that user: what the user may not see, root tells nobody.
func (s *survey) inspect(ctx context.Context) {
	system, turns := s.questions()
	known := map[asked]look{}
	first, cancel := context.WithTimeout(ctx, systemLimit)
	defer cancel()
	for _, q := range system {
		s.ask(first, known, q)
	}
	then, cancel := context.WithTimeout(ctx, usersLimit)
	defer cancel()
	for t := next(turns); t != nil; t = next(turns) {
		begin := time.Now()
		s.ask(then, known, t.left[0])
		t.left = t.left[1:]
		t.spent += time.Since(begin)
	}
}

// questions are those of what the system starts, those of its own rights first, and those of each user.
func (s *survey) questions() (system []question, turns []*turn) {
	for _, e := range s.entries { // joined: those of a user are one behind another
		if e.By != "" && (len(turns) == 0 || turns[len(turns)-1].user != e.By) {
			turns = append(turns, &turn{user: e.By})
		}
		list := &system
		if e.By != "" {
			list = &turns[len(turns)-1].left
		}
		for i := range e.Programs {
			*list = append(*list, question{e, i})
		}
	}
	rank := func(q question) int {
		if q.entry.as == nil {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(system, func(a, b question) int { return rank(a) - rank(b) })
	return system, turns
}

// asked is what a look depends on.
type asked struct {
	name string
	path string // where it is looked for
	uid  int
}

// ask looks at a program, once for all entries that name it.
func (s *survey) ask(ctx context.Context, known map[asked]look, q question) {
	p := &q.entry.Programs[q.at]
	k := asked{name: p.Path}
	if !path.IsAbs(p.Path) {
		k.path = q.entry.path
	}
	if q.entry.as != nil {
		k.uid = q.entry.as.UID
	}
	seen, ok := known[k]
	if !ok {
		seen = s.lookAlong(ctx, k.path, p.Path, q.entry.as)
		known[k] = seen
	}
	s.overlook(q.entry.File, seen.err)
	if seen.real != "" && !strings.HasPrefix(p.Path, "/") {
		p.Path = seen.real
	}
	p.Real, p.Missing, p.Writable = seen.real, seen.missing, seen.open
}

// overlook notes, where there is an error, that not all programs of a file are known.
func (s *survey) overlook(file string, err error) {
	if err != nil && !s.overlooked[file] {
		s.overlooked[file] = true
		s.unseen = append(s.unseen, startup.Unread{Path: file, Err: hostfile.Reason(err)})
	}
}

const maxSearched = 50 // directories of a PATH

// lookAlong looks at one program, by the directories that a table has it looked for in. In one that is not known
// any program may be.
func (s *survey) lookAlong(ctx context.Context, along, name string, as *userdb.User) look {
	if along == "" || strings.Contains(name, "/") {
		return s.lookAt(ctx, name, as)
	}
	list := strings.SplitN(along, ":", maxSearched+1)
	for _, directory := range list[:min(len(list), maxSearched)] {
		if !path.IsAbs(directory) {
			return look{}
		}
		if seen := s.lookAt(ctx, path.Join(directory, name), as); !seen.missing {
			return seen
		}
	}
	return look{}
}

// lookAt looks at one program. Nothing is known of one whose name is made up as it is run.
func (s *survey) lookAt(ctx context.Context, name string, as *userdb.User) look {
	inSystem := slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(path.Clean(name), dir) })
	switch {
	case strings.ContainsAny(name, "$%~"):
		return look{}
	case as == nil && !path.IsAbs(name):
		return s.search(name)
	case as == nil && inSystem:
		return s.see(name)
	case ctx.Err() != nil:
		return look{err: ctx.Err()}
	case !path.IsAbs(name):
		return s.search(name)
	}
	uid := s.Owner
	if as != nil {
		uid = as.UID
	}
	seen, err := stuck.Look(ctx, s.Root, name, uid, programLimit, func(context.Context) (seen look, err error) {
		err = s.with(as, func() { seen = s.see(name) })
		return seen, err
	})
	if err != nil {
		return look{err: err}
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
	if hostfile.Missing(err) || errors.Is(err, fs.ErrPermission) && s.EUID == 0 {
		// A path that cannot be entered does not exist for whoever runs it. A pattern names another file.
		return look{missing: !strings.ContainsAny(name, "*?[{")}
	}
	if err != nil {
		return look{err: err}
	}
	f, err := hostfile.Stat(s.path(real))
	if err != nil {
		return look{err: err}
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
