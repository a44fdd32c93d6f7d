// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/internal/timespec"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/crontab"
	"sentinel/platform/unix/hostfile"
)

// spools hold the tables of users, by the names of these: of Debian, Alpine, SUSE, and of cronie.
var spools = []string{"/var/spool/cron/crontabs", "/etc/crontabs", "/var/spool/cron/tabs", "/var/spool/cron"}

// cron finds the tables of the system for cron and anacron. The scripts that run-parts starts are among
// [scriptDirs].
func (s *survey) cron() {
	s.table("/etc/crontab", crontab.System, nil, true)
	for _, name := range s.names("/etc/cron.d") {
		s.table("/etc/cron.d/"+name, crontab.System, nil, s.readByCron(name))
	}
	s.table("/etc/anacrontab", crontab.Anacron, &userdb.User{Name: "root"}, true)
}

// personalTables finds the tables of users.
func (s *survey) personalTables() {
	seen := map[string]bool{}
	for _, spool := range spools {
		real, names := s.once(seen, spool)
		for _, name := range names {
			s.personal(path.Join(real, name), name)
		}
	}
}

var errLink = errors.New("a link, which cron does not follow")

// personal reads the table of a user. Users of some groups can write the spool, so a link in it is
// not followed.
func (s *survey) personal(file, user string) {
	meta, err := hostfile.Lstat(s.path(file))
	switch {
	case err != nil || s.isDirectory(file) || strings.HasPrefix(user, "tmp.") || strings.HasPrefix(user, "."):
		return
	case meta.Mode&fs.ModeSymlink != 0:
		s.miss(file, errLink)
		return
	}
	u := s.account(user, meta.UID, nogroup)
	s.table(file, crontab.Personal, &u, true)
}

func (s *survey) isDirectory(name string) bool {
	real, err := s.directory(name)
	if err != nil {
		return false
	}
	info, err := hostfile.Lstat(s.path(real))
	return err == nil && info.Mode.IsDir()
}

// runParts is the form of names that run-parts(8) and Debian's cron(8) take.
var runParts = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// Names that run-parts takes with --lsbsysinit (run-parts.c of debianutils).
var (
	hierarchicalPart = lazyregexp.New(`^_?([a-z0-9_.]+-)+[a-z0-9]+$`)
	assignedPart     = lazyregexp.New(`^[a-z0-9][a-z0-9-]*$`)
	excludedPart     = lazyregexp.New(`^[a-z0-9-].*\.dpkg-(old|dist|new|tmp)$`)
)

// isRunPart reports whether run-parts(8) runs a program of that name, with or without --lsbsysinit.
func isRunPart(name string, lsb bool) bool {
	switch {
	case !lsb:
		return runParts.Get().MatchString(name)
	case hierarchicalPart.Get().MatchString(name):
		return !excludedPart.Get().MatchString(name)
	default:
		return assignedPart.Get().MatchString(name)
	}
}

// readByCron reports whether cron reads a file in /etc/cron.d: that of Debian passes over names with
// a dot, cronie over what editors and package managers leave.
func (s *survey) readByCron(name string) bool {
	if s.debian() {
		return isRunPart(name, false)
	}
	return !isLeftover(name)
}

func (s *survey) debian() bool {
	_, err := hostfile.Lstat(s.path("/var/lib/dpkg/status"))
	return err == nil
}

// table adds the jobs of a table. user owns it, if its lines name none.
func (s *survey) table(name string, form crontab.Form, user *userdb.User, read bool) {
	f, ok := s.open(name)
	if !ok {
		return
	}
	table := crontab.Parse([]byte(s.text(f)), form)
	if err := table.Unread(); err != nil {
		s.miss(f.name, err)
	}
	s.leftOver(f, table.Left, user)
	for _, v := range table.Variables {
		s.variable(f, v, user, read)
	}
	for _, j := range table.Entries {
		s.job(f, j, user, read)
	}
}

// leftOver adds what of a table was not read, so that a change of it is one. digest is that of the lines.
func (s *survey) leftOver(f file, digest string, user *userdb.User) {
	if digest == "" && !f.big {
		return
	}
	s.addJob(f, startup.Entry{Kind: startup.CronJob, Name: path.Base(f.name) + ": what is not read", Identity: "unread", Content: digest}, user)
}

// addJob adds an entry of a table that is a user's, if user is not nil.
func (s *survey) addJob(f file, e startup.Entry, user *userdb.User, programs ...string) *entry {
	if user == nil {
		return s.add(f, e, programs...)
	}
	e.User = user.Name
	return s.addFor(*user, f, e, programs...)
}

// variable adds one that has every job below it run or load a file.
func (s *survey) variable(f file, v crontab.Variable, user *userdb.User, read bool) {
	e := startup.Entry{
		Kind: startup.CronJob, Name: path.Base(f.name) + ": " + v.Name, Line: v.Line, Identity: v.Name, Content: v.Value, When: "with each job below it", Enabled: new(read),
	}
	s.addJob(f, e, user, s.shell(f).Command(v.Words())...)
}

func (s *survey) job(f file, j crontab.Entry, user *userdb.User, read bool) {
	if user != nil {
		j.User = user.Name
	}
	programs := s.shell(f).Fed(j.Command, j.Input)
	e := startup.Entry{
		Kind: startup.CronJob, Name: path.Base(f.name), Line: j.Line, Identity: j.Identity(),
		When: j.When, User: j.User, Enabled: new(read),
	}
	e.Content = e.Identity
	if len(programs) > 0 {
		e.Name += ": " + path.Base(programs[len(programs)-1])
	}
	account, _, _ := strings.Cut(j.User, ":")
	known, exists := s.byName[account]
	if !exists && !s.foreign {
		e.Warnings = []startup.Warning{startup.UserMissing}
	}
	added := s.addJob(f, e, user, programs...)
	added.path = j.Path
	if user == nil && exists && known.UID != 0 {
		added.as = &known
	}
}

// atSpools hold the jobs of at(1).
var atSpools = []string{"/var/spool/cron/atjobs", "/var/spool/atjobs", "/var/spool/at"}

// atName is a queue, a number, and minutes since 1970 (atd.c).
var atName = lazyregexp.New(`^[a-zA-Z=][0-9a-f]{5}([0-9a-f]{8})$`)

var errJobs = errors.New("the jobs of a user are larger together than expected: not all were read")

// at finds jobs that run once. Those of a user have as many bytes as the files of a home.
func (s *survey) at() {
	seen, used := map[string]bool{}, map[string]int64{}
	for _, spool := range atSpools {
		real, names := s.once(seen, spool)
		for _, name := range names {
			match := atName.Get().FindStringSubmatch(name)
			if match == nil {
				continue
			}
			meta, err := hostfile.Lstat(s.path(path.Join(real, name)))
			user := s.by(meta.UID)
			if used[user] += min(meta.Size, maxFile) + nameBytes; err == nil && used[user] > homeBytes {
				s.miss(real, errJobs)
				continue
			}
			if f, ok := s.open(path.Join(real, name)); ok {
				f.place = real
				s.atJob(f, match[1])
			}
		}
	}
}

func (s *survey) atJob(f file, minutes string) {
	u := s.account(s.owner(f.meta.UID), f.meta.UID, nogroup)
	e := startup.Entry{Kind: startup.AtJob, Name: path.Base(f.name), When: atTime(minutes), User: u.Name, Enabled: new(true)}
	variables, commands := atParts(s.text(f))
	loaded := loadedBy(strings.ReplaceAll(variables, "; export ", "\n"), s.shell(f))
	s.addFor(u, f, e, append(s.shell(f).Programs(commands), loaded...)...)
}

func atTime(minutes string) string {
	n, err := strconv.ParseInt(minutes, 16, 64)
	if err != nil {
		return ""
	}
	return timespec.Format(time.Unix(60*n, 0))
}

// atParts splits a job into what at puts before it, the environment and the change of directory, and what
// the user typed.
func atParts(script string) (variables, commands string) {
	if at := strings.Index(script, "\ncd "); at >= 0 {
		if end := strings.Index(script[at:], "\n}\n"); end >= 0 {
			return script[:at], script[at+end+3:]
		}
	}
	return "", script
}
