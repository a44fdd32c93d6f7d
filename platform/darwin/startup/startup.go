// SPDX-License-Identifier: Apache-2.0

// Package startup finds what starts by itself on macOS: in the property lists of launchd, the tables
// of cron, the files of shells and keys, and what sfltool(1), systemextensionsctl(8) and kmutil(8)
// list.
package startup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/startup"
	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// Bounds of what is read.
const (
	maxFile  = 1 << 20 // bytes
	maxNames = 2000    // in a directory
)

// Parts are what is seen of a Mac.
type Parts struct {
	Root   string // below which files are read; "/" on a real Mac
	Runner sysexec.Runner
	EUID   int // of this run
	Owner  int // user that files of the system belong to; 0 on a real Mac
}

// A Source finds what starts by itself. It is safe for concurrent use.
type Source struct{ parts Parts }

var _ startup.Source = (*Source)(nil)

// New returns the source for the Mac that p describes. It reads nothing.
func New(p Parts) *Source { return &Source{p} }

// Startup implements [startup.Source].
func (s *Source) Startup(ctx context.Context) (startup.Found, error) {
	v := &survey{Parts: s.parts, publishers: map[string]string{}}
	v.users()
	v.background(ctx)
	v.launchd(ctx)
	v.cron()
	v.scripts()
	v.extensions(ctx)
	v.homes(ctx)
	if err := ctx.Err(); err != nil {
		return startup.Found{}, err
	}
	return v.found, nil
}

// A survey is one look at a Mac. It is not safe for concurrent use.
type survey struct {
	Parts
	found      startup.Found
	accounts   []account
	publishers map[string]string // of property lists and programs, by their paths
}

// An account is a user with a home.
type account struct {
	name, home string
	uid        int
}

func (s *survey) path(name string) string { return filepath.Join(s.Root, name) }

// users lists the homes in /Users, and that of root. Names that begin with a dot belong to the
// system.
func (s *survey) users() {
	s.found.Homes = map[string]string{}
	s.accounts = []account{{"root", "/var/root", s.Owner}}
	names, err := hostfile.Names(s.path("/Users"), maxNames)
	if err != nil && !hostfile.Missing(err) {
		s.miss("/Users", err)
	}
	for _, name := range names {
		f, err := hostfile.Lstat(s.path("/Users/" + name))
		if err == nil && f.Mode.IsDir() && name != "Shared" && name != "Guest" && !strings.HasPrefix(name, ".") {
			s.accounts = append(s.accounts, account{name, "/Users/" + name, f.UID})
			s.found.Homes["/Users/"+name] = name
		}
	}
}

// miss notes what was not read.
func (s *survey) miss(name string, err error) {
	if !slices.ContainsFunc(s.found.Unread, func(u startup.Unread) bool { return u.Path == name }) {
		s.found.Unread = append(s.found.Unread, startup.Unread{Path: name, Err: hostfile.Reason(err)})
	}
}

// overlook notes, where there is an error, that not all programs of a file are known.
func (s *survey) overlook(name string, err error) {
	if err != nil && !slices.ContainsFunc(s.found.Unseen, func(u startup.Unread) bool { return u.Path == name }) {
		s.found.Unseen = append(s.found.Unseen, startup.Unread{Path: name, Err: err})
	}
}

// A file is one that was read.
type file struct {
	name  string
	raw   []byte
	meta  hostfile.Meta
	shell *shellscript.Reader // finds its programs
}

func fileOf(name string, raw []byte, meta hostfile.Meta) file {
	return file{name, raw, meta, shellscript.NewReader(len(raw))}
}

// open reads a file of the system. Only root can put links where these are.
func (s *survey) open(name string) (file, bool) {
	var raw []byte
	meta, err := hostfile.Stat(s.path(name))
	if err == nil {
		raw, err = hostfile.Read(s.path(name), maxFile)
	}
	f := fileOf(name, raw, meta)
	if err != nil {
		if !hostfile.Missing(err) {
			s.miss(name, err)
		}
		return f, false
	}
	return f, true
}

// names lists a directory of the system; nothing if there is none.
func (s *survey) names(directory string) []string {
	names, err := hostfile.Names(s.path(directory), maxNames)
	if err != nil && !hostfile.Missing(err) {
		s.miss(directory, err)
	}
	return names
}

// add adds an entry of a file.
func (s *survey) add(f file, e startup.Entry, programs ...string) *startup.Entry {
	e.File, e.Owner, e.Changed, e.Size, e.Writable = f.name, s.owner(f.meta.UID), f.meta.Modified, f.meta.Size, f.meta.Mode&0o002 != 0
	e.By = cmp.Or(e.By, by(e.Owner))
	if e.Content == "" {
		sum := sha256.Sum256(f.raw)
		e.Content = hex.EncodeToString(sum[:])
	}
	s.overlook(f.name, f.shell.Err())
	for _, name := range programs {
		e.Programs = append(e.Programs, s.look(name))
	}
	if publisher := s.publishers[f.name]; publisher != "" && e.Package == "" {
		e.Package = publisher
	}
	if len(s.found.Entries) == startup.MaxEntries {
		s.miss(f.name, startup.ErrTooMany)
		return &e
	}
	s.found.Entries = append(s.found.Entries, e)
	return &s.found.Entries[len(s.found.Entries)-1]
}

// by is who chose something, as [startup.Entry] has it.
func by(user string) string {
	if user == "root" {
		return ""
	}
	return user
}

func (s *survey) owner(uid int) string {
	if uid == s.Owner {
		return "root"
	}
	for _, a := range s.accounts {
		if a.uid == uid {
			return a.name
		}
	}
	return strconv.Itoa(uid)
}

// systemDirs are on the sealed system volume or protected like it.
var systemDirs = []string{"/System/", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/lib/", "/Library/Apple/System/"}

// ofSystem reports whether a file is part of macOS. Below /System/Volumes are the volumes of users.
func ofSystem(name string) bool {
	name = path.Clean(name)
	return !strings.HasPrefix(name, "/System/Volumes/") && slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// look looks at a program, unless it is in a home: whether it is there is not for root to tell.
func (s *survey) look(name string) startup.Program {
	p := startup.Program{Path: name, Origin: startup.NoPackage}
	if ofSystem(name) {
		p.Origin = startup.Packaged
		return p
	}
	if !path.IsAbs(name) || strings.HasPrefix(name, "/Users/") && s.EUID == 0 {
		p.Origin = startup.UnknownOrigin
		return p
	}
	f, err := hostfile.Stat(s.path(name))
	p.Missing = hostfile.Missing(err) && !strings.ContainsAny(name, "$*?[{") // which name another file
	p.Writable = err == nil && f.Mode&0o002 != 0 && (!f.Mode.IsDir() || f.Mode&fs.ModeSticky == 0)
	return p
}

const runLimit = 5 * time.Second

// errOutput reports an output of another form than is known.
var errOutput = errors.New("its output has an unknown form")

// run runs a program and parses what it prints.
func (s *survey) run(ctx context.Context, parse func(stdout string) error, program string, args ...string) {
	r, err := s.Runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: runLimit, WaitDelay: 200 * time.Millisecond, MaxOutput: 4 << 20})
	if err == nil && r.Exit != 0 {
		err = errors.New("it ends with status " + strconv.Itoa(r.Exit))
	}
	if err == nil {
		err = parse(string(r.Stdout))
	}
	if err != nil {
		s.miss(program, err)
	}
}
