// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/installed"
	"sentinel/internal/sysexec"
	"sentinel/internal/userdb"
)

// A Machine is where somebody wants a tool to run as root.
type Machine struct {
	Root     string // files are looked for below it; "/" on a live system
	OS       string // as runtime.GOOS has it
	Programs sysexec.Runner
	Program  string // absolute path of sentinel, after following links; "" if not known
	// Trusted returns why somebody other than root could change what is at a path.
	Trusted func(path string) error
	UID     int    // who wants it
	Name    string // of that user, where it is known
	// Groups are those of the running process (getgroups(2)); nil where they are not the user's, as
	// under sudo.
	Groups []int
}

// A Situation is what was found about a user and the rules of sudo.
type Situation struct {
	machine       Machine
	Untrusted     error  // why sudo must not be used for Program
	Installed     string // the sentinel of root, where Program is not to be trusted; "" if there is none
	NoSudo        bool
	NoRules       bool   // there is no file of rules; false where that cannot be seen
	User          string // "" if not known
	NoGroup       bool   // there is no group of that name
	Member        bool   // of the group, as the system knows it
	Administrator bool   // in a group that may use sudo for everything by custom
	Stale         bool   // this process began before the user was a member, and sudo goes by that
}

// askLimit bounds the program that knows the groups of a user on macOS.
const askLimit = 5 * time.Second

// Look finds the situation. It changes nothing; what cannot be read counts as being in order.
func Look(ctx context.Context, m Machine) Situation {
	s := Situation{machine: m, User: m.Name}
	if m.Program != "" {
		s.Untrusted = m.Trusted(m.at(m.Program))
	}
	if s.Untrusted != nil {
		s.Installed = m.installed()
	}
	s.NoSudo = m.missing(Sudo)
	s.NoRules = m.missing(Rules)
	if m.OS == "darwin" {
		s.askDirectory(ctx)
		return s
	}
	s.readFiles()
	return s
}

func (m Machine) at(path string) string { return filepath.Join(m.Root, path) }

func (m Machine) missing(path string) bool {
	_, err := os.Lstat(m.at(path))
	return errors.Is(err, fs.ErrNotExist)
}

// installed returns the sentinel that root has installed; "" if there is none.
func (m Machine) installed() string {
	for _, path := range installed.Paths(installed.Sentinel) {
		if info, err := os.Stat(m.at(path)); err == nil && info.Mode().IsRegular() && m.Trusted(m.at(path)) == nil {
			return path
		}
	}
	return ""
}

// askDirectory asks id(1), because users and groups of macOS are not in files. sudo asks the same
// directory each time, so a membership takes effect at once.
func (s *Situation) askDirectory(ctx context.Context) {
	id := func(flag string) string {
		r, err := s.machine.Programs.Run(ctx, sysexec.Command{Path: "/usr/bin/id", Args: []string{flag, strconv.Itoa(s.machine.UID)}, Timeout: askLimit, MaxOutput: 64 << 10})
		if err != nil || r.Exit != 0 {
			return ""
		}
		return strings.TrimSpace(string(r.Stdout))
	}
	s.User = cmp.Or(s.User, id("-un"))
	groups := strings.Fields(id("-Gn"))
	s.Member = len(groups) == 0 || slices.Contains(groups, Group)
	s.Administrator = slices.ContainsFunc(groups, ofAdministrators)
}

// readFiles reads passwd and group. Users of a directory service are not in them; the members of
// the group are.
func (s *Situation) readFiles() {
	users, _ := userdb.Passwd(s.machine.read("/etc/passwd"))
	var user userdb.User
	for _, u := range users {
		if u.UID == s.machine.UID {
			user, s.User = u, cmp.Or(s.User, u.Name)
			break
		}
	}
	raw := s.machine.read("/etc/group")
	groups, _ := userdb.Groups(raw)
	s.Administrator = slices.ContainsFunc(groups, func(g userdb.Group) bool { return ofAdministrators(g.Name) && slices.Contains(s.machine.Groups, g.GID) })
	at := slices.IndexFunc(groups, func(g userdb.Group) bool { return g.Name == Group })
	if s.NoGroup = at < 0 && len(raw) > 0; at < 0 {
		return
	}
	group := groups[at]
	in := slices.Contains(s.machine.Groups, group.GID)
	s.Member = in || s.User != "" && (user.GID == group.GID || slices.Contains(group.Members, s.User))
	s.Stale = s.Member && !in && s.machine.Groups != nil
}

// ofAdministrators says whether the rules of sudo that systems come with let a group run everything.
func ofAdministrators(group string) bool {
	return slices.Contains([]string{"sudo", "wheel", "admin"}, group)
}

func (m Machine) read(path string) []byte {
	f, err := os.Open(m.at(path))
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, userdb.MaxFile))
	if err != nil {
		return nil
	}
	return raw
}
