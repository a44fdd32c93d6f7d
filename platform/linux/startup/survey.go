// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// Bounds of what is read.
const (
	maxFile  = 1 << 20 // bytes
	maxNames = 5000    // in a directory
	maxLinks = 40      // as the kernel has it (path_resolution(7))
	maxSteps = 500     // on the way to a file: links may add thousands each
	nogroup  = 65534   // of whom only the number is known

	maxPrograms = 1000 // of an entry
)

var errManyPrograms = errors.New("it runs more than " + strconv.Itoa(maxPrograms) + " programs, of which the rest is not looked at")

// A survey is one look at a system. It is not safe for concurrent use.
type survey struct {
	Parts
	ctx        context.Context //nolint:containedctx // of the files; every reader needs it
	users      []userdb.User
	byName     map[string]userdb.User
	byUID      map[int]string
	groups     []userdb.Group
	principals []string            // files with principals of certificates, as sshd_config(5) has them
	apt        map[string][]string // options of [aptPlaces], as far as they were read
	foreign    bool                // users come from a directory service as well
	entries    []*entry            // of root; with join, of everybody
	own        map[string][]*entry // of the others, by user
	others     int                 // entries of own
	forSystem  *unitSet            // the units of the service manager of the system
	forUsers   *unitSet            // the units of every user's service manager
	proc       procfs.FS           // tells whose a subordinate ID is
	unread     []startup.Unread
	missed     map[string]bool  // by path: it is unread
	unseen     []startup.Unread // files
	overlooked map[string]bool
	places     map[string]string              // whose homes and runtime directories there are; root's are not among them
	dirs       map[string]string              // directories without links
	digests    map[string]string              // of what was read: SHA-256
	readers    map[string]*shellscript.Reader // by file
	packages   error
}

// An entry is under construction.
type entry struct {
	startup.Entry
	source string       // the file that a package may own
	as     *userdb.User // with whose rights the programs are looked at; nil is root
	place  string       // what is named where it is left out
	path   string       // where its programs are looked for; "" is [searched]
}

func newSurvey(p Parts) *survey {
	return &survey{Parts: p, apt: aptPlaces(), forSystem: newUnitSet(nil), forUsers: newUnitSet(nil), byName: map[string]userdb.User{}, byUID: map[int]string{}, dirs: map[string]string{}, digests: map[string]string{}, missed: map[string]bool{}, places: map[string]string{}, overlooked: map[string]bool{}, own: map[string][]*entry{}, proc: procfs.New(p.Root), readers: map[string]*shellscript.Reader{}}
}

func (s *survey) path(name string) string { return filepath.Join(s.Root, name) }

// live reports whether this is the running system.
func (s *survey) live() bool { return s.Root == "/" }

// found is what is known at the end.
func (s *survey) found() startup.Found {
	f := startup.Found{Unread: s.unread, Unseen: s.unseen, Homes: s.places, Packages: s.packages, Compared: s.packages == nil}
	for _, e := range s.entries {
		f.Entries = append(f.Entries, e.Entry)
	}
	return f
}

// miss notes what was not read.
func (s *survey) miss(name string, err error) {
	if s.missed[name] {
		return
	}
	s.missed[name] = true
	s.unread = append(s.unread, startup.Unread{Path: name, Err: hostfile.Reason(err)})
}

// accounts reads who there is.
func (s *survey) accounts() {
	raw, err := hostfile.Read(s.path("/etc/passwd"), userdb.MaxFile)
	if err != nil {
		s.miss("/etc/passwd", err)
	}
	s.users, _ = userdb.Passwd(raw)
	for _, u := range s.users {
		if _, taken := s.byUID[u.UID]; !taken {
			s.byUID[u.UID] = u.Name
		}
		s.byName[u.Name] = u
	}
	raw, _ = hostfile.Read(s.path("/etc/group"), userdb.MaxFile) //nolint:errcheck // without it a user has fewer rights
	s.groups, _ = userdb.Groups(raw)
	nss, _ := hostfile.Read(s.path("/etc/nsswitch.conf"), maxFile) //nolint:errcheck // there is none without glibc
	s.foreign = err != nil || asksDirectory(string(nss))
}

// account is a user by name; if there is none, as in a directory service, by what is known of a file.
func (s *survey) account(name string, uid, gid int) userdb.User {
	if u, ok := s.byName[name]; ok {
		return u
	}
	if uid == s.Owner {
		uid = 0
	}
	return userdb.User{Name: name, UID: uid, GID: gid}
}

// asksDirectory reports whether nsswitch.conf(5) names a source of accounts that is no file here.
func asksDirectory(nss string) bool {
	return slices.ContainsFunc(userdb.NameSources([]byte(nss), "passwd"), func(source string) bool {
		return slices.Contains([]string{"sss", "ldap", "winbind", "nis", "nisplus", "hesiod", "oslogin", "himmelblau"}, source)
	})
}

// by names the user who has an ID, or whom it is subordinate to (subuid(5)); "" is root.
func (s *survey) by(uid int) string {
	if name := s.owner(s.proc.UserOf(uid)); name != "root" {
		return name
	}
	return ""
}

// choice names who chose what starts for a user. Some programs leave the tables of users to root (crontab of
// BusyBox, of macOS), also of one whom only a directory service knows.
func (s *survey) choice(u userdb.User, f file) string {
	_, known := s.byName[u.Name]
	switch {
	case u.UID != 0:
		return s.named(s.proc.UserOf(u.UID))
	case known || u.Name == "root":
		return s.by(f.meta.UID)
	default:
		return u.Name
	}
}

// owner names the user whom a file belongs to.
func (s *survey) owner(uid int) string {
	if uid == s.Owner {
		return "root"
	}
	return s.named(uid)
}

// named is the name of a user, or the number of one without.
func (s *survey) named(uid int) string {
	if name, ok := s.byUID[uid]; ok {
		return name
	}
	return strconv.Itoa(uid)
}

var errSteps = errors.New("its path has more links and directories than are followed")

// resolve returns name without links, all of them followed below the root.
func (s *survey) resolve(name string) (string, error) {
	rest := parts(name)
	at := "/"
	for links, steps := 0, 0; len(rest) > 0; steps++ {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if steps == maxSteps {
			return next, errSteps
		}
		info, err := hostfile.Lstat(s.path(next))
		if err != nil {
			return next, err
		}
		if info.Mode&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return next, &os.PathError{Op: "open", Path: name, Err: unix.ELOOP}
		}
		to, err := os.Readlink(s.path(next))
		if err != nil {
			return next, err
		}
		if !path.IsAbs(to) {
			to = path.Join(at, to)
		}
		rest, at = append(parts(to), rest...), "/"
	}
	return at, nil
}

func parts(name string) []string {
	return strings.FieldsFunc(path.Clean("/"+name), func(r rune) bool { return r == '/' })
}

// directory is resolve for directories, which are many files'.
func (s *survey) directory(name string) (string, error) {
	if real, ok := s.dirs[name]; ok {
		return real, nil
	}
	real, err := s.resolve(name)
	if err == nil {
		s.dirs[name] = real
	}
	return real, err
}

// names lists a directory of the system, as far as it is not too full; nothing if there is none.
func (s *survey) names(directory string) (names []string) {
	if err := s.ctx.Err(); err != nil {
		s.miss(directory, err)
		return nil
	}
	real, err := s.directory(directory)
	if err == nil {
		names, err = hostfile.Names(s.path(real), maxNames)
	}
	if err != nil && !hostfile.Missing(err) {
		s.miss(directory, err)
	}
	return names
}

// once is names for directories that may be one and the same, such as /lib and /usr/lib: "" and
// nothing for one that was listed before.
func (s *survey) once(seen map[string]bool, directory string) (real string, names []string) {
	real, err := s.directory(directory)
	if err != nil || seen[real] {
		if err != nil && !hostfile.Missing(err) {
			s.miss(directory, err)
		}
		return "", nil
	}
	seen[real] = true
	return real, s.names(real)
}

// A file is one that was opened.
type file struct {
	name  string // without links
	raw   []byte
	meta  hostfile.Meta
	big   bool   // and raw therefore empty
	open  bool   // everyone can replace it
	place string // what is named where its entries are left out; "" is the file
}

// open reads a file of the system. What is no regular file is noted and not read: a FIFO or a
// device in its place cannot make the run wait.
func (s *survey) open(name string) (file, bool) {
	if err := s.ctx.Err(); err != nil || name == "" {
		if name != "" {
			s.miss(name, err)
		}
		return file{}, false
	}
	directory, err := s.directory(path.Dir(name))
	if err == nil {
		name = path.Join(directory, path.Base(name))
		name, err = s.resolve(name)
	}
	if err != nil {
		if !hostfile.Missing(err) {
			s.miss(name, err)
		}
		return file{}, false
	}
	f := file{name: name}
	f.raw, f.meta, err = hostfile.ReadBelow(s.Root, strings.TrimPrefix(name, "/"), maxFile)
	switch {
	case errors.Is(err, hostfile.ErrTooLarge):
		f.raw, f.big = nil, true
	case hostfile.Missing(err):
		return f, false
	case err != nil:
		s.miss(name, err)
		return f, false
	}
	f.open = f.meta.Mode&0o002 != 0 || s.loose(path.Dir(name))
	if !f.big {
		s.digests[name] = digest(f.raw)
	}
	return f, true
}

// loose reports whether everyone can replace the files in a directory.
func (s *survey) loose(directory string) bool {
	f, err := hostfile.Stat(s.path(directory))
	return err == nil && f.Mode&0o002 != 0 && f.Mode&fs.ModeSticky == 0
}

// text is the content of a file that is parsed. One that is too long is noted.
func (s *survey) text(f file) string {
	if f.big {
		s.miss(f.name, hostfile.ErrTooLarge)
	}
	return string(f.raw)
}

// shell finds the programs of a file.
func (s *survey) shell(f file) *shellscript.Reader {
	if s.readers[f.name] == nil {
		s.readers[f.name] = shellscript.NewReader(len(f.raw))
	}
	return s.readers[f.name]
}

// add adds an entry of a file that the system starts.
func (s *survey) add(f file, e startup.Entry, programs ...string) *entry {
	added := s.entry(f, e, programs)
	s.take(added)
	return added
}

// addFor adds an entry that a user chose to start.
func (s *survey) addFor(u userdb.User, f file, e startup.Entry, programs ...string) *entry {
	added := s.entry(f, e, programs)
	if u.UID != 0 {
		added.as = &u
	}
	added.By = s.choice(u, f)
	s.take(added)
	return added
}

func (s *survey) entry(f file, e startup.Entry, programs []string) *entry {
	e.File, e.Owner, e.By, e.Changed, e.Size, e.Writable = f.name, s.owner(f.meta.UID), s.by(f.meta.UID), f.meta.Modified, f.meta.Size, f.open
	if e.Content == "" {
		e.Content = s.digests[f.name]
	}
	if e.Content == "" {
		e.Content = strconv.FormatInt(e.Size, 10) + e.Changed.UTC().String()
	}
	added := &entry{Entry: e, source: f.name, place: cmp.Or(f.place, f.name)}
	if len(programs) > maxPrograms {
		s.miss(f.name, errManyPrograms)
		programs = programs[:maxPrograms]
	}
	s.overlook(f.name, s.shell(f).Err())
	for _, name := range programs {
		added.Programs = append(added.Programs, startup.Program{Path: name})
	}
	return added
}

// take keeps an entry. Where no more can be kept, one goes of the user who has most: nobody pushes out
// what somebody else starts, or the system.
func (s *survey) take(e *entry) {
	if len(s.entries)+s.others >= startup.MaxEntries && !s.makeRoom(e) {
		s.miss(e.place, startup.ErrTooMany)
		return
	}
	if e.By == "" {
		s.entries = append(s.entries, e)
		return
	}
	s.own[e.By] = append(s.own[e.By], e)
	s.others++
}

// makeRoom reports whether an entry of somebody who has more than its user gave way to it.
func (s *survey) makeRoom(e *entry) bool {
	most := e.By
	for user, list := range s.own {
		if more := len(list) - len(s.own[most]); more > 0 || more == 0 && len(list) > 0 && user > most {
			most = user
		}
	}
	list := s.own[most]
	if most == e.By || e.By != "" && len(list) <= len(s.own[e.By])+1 {
		return false
	}
	s.miss(list[len(list)-1].place, startup.ErrTooMany)
	s.own[most] = list[:len(list)-1]
	s.others--
	return true
}

// join puts the entries of users behind those of root.
func (s *survey) join() {
	for _, user := range slices.Sorted(maps.Keys(s.own)) {
		s.entries = append(s.entries, s.own[user]...)
	}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
