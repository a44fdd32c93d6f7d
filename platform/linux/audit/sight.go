// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/listeners"
)

// sight is what several checks of files, mounts and processes look at.
type sight struct {
	mountTable audit.Memo[[]mount]
	people     audit.Memo[people]
	systemTree audit.Memo[*sightings]
	restOfTree audit.Memo[*sightings]
	running    audit.Memo[processes]
	listeners  audit.Memo[[]listeners.Listener]
	servers    audit.Memo[mcpServers]
}

// now is what ages are counted to.
func (m *machine) now() time.Time {
	if m.Now.IsZero() {
		return time.Now()
	}
	return m.Now
}

// readUpTo is read with a bound of its own, for what the kernel makes long lists
// in.
func (m *machine) readUpTo(name string, limit int) ([]byte, error) {
	return hostfile.Read(m.path(name), limit)
}

// people are the accounts and groups of the files in /etc.
type people struct {
	users         []userdb.User
	groups        []userdb.Group
	members       map[int][]string // of the groups, the users who have one as their own left out
	uids, gids    map[uint32]bool
	fromDirectory bool // more of them come from a directory service
}

// who reads the accounts once.
func (m *machine) who() (people, error) {
	return m.people.Get(func() (people, error) {
		p := people{uids: map[uint32]bool{uint32(m.Owner): true}, gids: map[uint32]bool{uint32(m.Owner): true}, members: map[int][]string{}}
		users, _, err := m.passwd()
		if err != nil {
			return people{}, err
		}
		groups, err := m.accounts("/etc/group")
		if err != nil {
			return people{}, err
		}
		p.users = users
		p.groups, _ = userdb.Groups(groups)
		for _, u := range p.users {
			p.uids[uint32(u.UID)] = true
		}
		for _, g := range p.groups {
			p.gids[uint32(g.GID)] = true
			p.members[g.GID] = append(p.members[g.GID], g.Members...)
		}
		nss, err := m.read("/etc/nsswitch.conf")
		if err != nil && !hostfile.Missing(err) {
			return people{}, err
		}
		p.fromDirectory = fromDirectory(nss, "passwd", "group")
		return p, nil
	})
}

// persons are the accounts with a home and a shell, one for each home, root left
// out.
func (p people) persons() []userdb.User {
	var list []userdb.User
	seen := map[string]bool{}
	for _, u := range p.users {
		shell := u.Shell[strings.LastIndexByte(u.Shell, '/')+1:]
		if u.UID != 0 && strings.HasPrefix(u.Home, "/") && !slices.Contains([]string{"nologin", "false", "sync", "shutdown", "halt"}, shell) && !seen[u.Home] {
			seen[u.Home] = true
			list = append(list, u)
		}
	}
	return list
}

// fromDirectory says whether nsswitch.conf(5) names a source of one of the
// databases that is no file of this machine.
func fromDirectory(raw []byte, databases ...string) bool {
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		database, sources, ok := strings.Cut(line, ":")
		if database = strings.TrimSpace(database); !ok || !slices.Contains(databases, database) {
			continue
		}
		for source := range strings.FieldsSeq(sources) {
			if !strings.HasPrefix(source, "[") && !strings.HasPrefix(source, "!") && !strings.HasSuffix(source, "]") &&
				!slices.Contains([]string{"files", "compat", "systemd", "db", "altfiles"}, source) {
				return true
			}
		}
	}
	return false
}
