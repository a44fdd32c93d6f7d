// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/stuck"
)

// localUsers are the accounts and groups that the files in /etc hold.
type localUsers struct {
	users            []userdb.User
	groups           []userdb.Group
	members          map[int][]string // of each group, as it names them
	uids, gids       map[uint32]bool
	directoryService bool // may know more accounts
}

// users reads the accounts, once.
func (m *machine) users() (localUsers, error) {
	return m.localUsers.Get(func() (localUsers, error) {
		p := localUsers{uids: map[uint32]bool{uint32(m.Owner): true}, gids: map[uint32]bool{uint32(m.Owner): true}, members: map[int][]string{}}
		users, _, err := m.passwd()
		if err != nil {
			return localUsers{}, err
		}
		groups, err := m.accounts("/etc/group")
		if err != nil {
			return localUsers{}, err
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
			return localUsers{}, err
		}
		p.directoryService = len(userdb.Directories(nss, "passwd", "group")) > 0
		return p, nil
	})
}

// has says whether an account of the machine has the name.
func (l localUsers) has(name string) bool {
	return slices.ContainsFunc(l.users, func(u userdb.User) bool { return u.Name == name })
}

// name is that of a user, or the number of one that is not known.
func (l localUsers) name(uid uint32) string {
	u, known := l.account(int(uid))
	if !known {
		return "user " + strconv.Itoa(int(uid))
	}
	return u.Name
}

// account is the first user in /etc/passwd with an ID.
func (l localUsers) account(uid int) (u userdb.User, known bool) {
	at := slices.IndexFunc(l.users, func(u userdb.User) bool { return u.UID == uid })
	if at < 0 {
		return u, false
	}
	return l.users[at], true
}

// userOf is who has a user ID, or whom it is subordinate to (subuid(5)). That of an account is known without
// the file, which a user may not be let read with whose rights the caller looks.
func (m *machine) userOf(uid int) int {
	if who, err := m.users(); err == nil && who.uids[uint32(uid)] {
		return uid
	}
	return m.proc().UserOf(uid)
}

// owner is a user as in [audit.Line].
func (m *machine) owner(uid int) string {
	if uid == m.Owner || uid == 0 {
		return ""
	}
	return strconv.Itoa(m.userOf(uid))
}

// userNamed is the name of a user, or the number where the files in /etc have none.
func (m *machine) userNamed(uid int) string {
	u, known := m.account(uid)
	if !known {
		return strconv.Itoa(uid)
	}
	return sanitize.Text(u.Name, 32)
}

func (m *machine) account(uid int) (u userdb.User, known bool) {
	who, err := m.users()
	if err != nil {
		return u, false
	}
	return who.account(uid)
}

// in returns who has the rights of a group: whom it names, and other users than root whose primary group it is.
func (l localUsers) in(gid int) []string {
	list := slices.Clone(l.members[gid])
	for _, u := range l.users {
		if u.GID == gid && u.UID != 0 && logsIn(u.Shell) && !slices.Contains(list, u.Name) {
			list = append(list, u.Name)
		}
	}
	return list
}

// loginUsers are the accounts with a home and a shell, one for each home, without
// root.
func (l localUsers) loginUsers() []userdb.User {
	var list []userdb.User
	seen := map[string]bool{}
	for _, u := range l.users {
		if u.UID != 0 && strings.HasPrefix(u.Home, "/") && logsIn(u.Shell) && !seen[u.Home] {
			seen[u.Home] = true
			list = append(list, u)
		}
	}
	return list
}

// looksForOthers says whether root looks with the rights of users.
func (m *machine) looksForOthers() bool { return m.live() && m.privileged() }

const (
	lookLimit  = time.Second      // for a look at files of a user, who may keep them from being read
	userLimit  = 2 * time.Second  // for all of one user in a check: one may let go in time each time
	looksLimit = 10 * time.Second // for all of a check: hundreds of homes on a server, or mounted when they are looked at
	// looksCheckLimit bounds a check with looks, which has more to do.
	looksCheckLimit = looksLimit + audit.DefaultLimit
)

// looks are those of one check at what users chose.
type looks struct {
	*machine
	ctx    context.Context
	gaveUp map[int]error // by user, who may have thousands of IDs: one look of theirs may take its time
	spent  map[int]time.Duration
}

func (m *machine) looks(ctx context.Context) (l *looks, end func()) {
	ctx, end = context.WithTimeout(ctx, looksLimit)
	return &looks{m, ctx, map[int]error{}, map[int]time.Duration{}}, end
}

// asUser looks with the rights of a user at what the user chose: a path in a file of the user's, a link, the
// program of a process. What the user may not see, root tells nobody. look must not touch what is used elsewhere: it
// goes on after it is given up. at is where it looks, as far as that is known.
func asUser[T any](l *looks, u userdb.User, at string, look func() T) (seen T, err error) {
	if !l.looksForOthers() {
		return look(), nil
	}
	who := l.userOf(u.UID)
	if err := cmp.Or(l.gaveUp[who], l.ctx.Err()); err != nil {
		return seen, err
	}
	with, err := l.rightsOf(u)
	if err != nil {
		return seen, err
	}
	began := time.Now()
	seen, err = stuck.Look(l.ctx, l.Root, at, u.UID, lookLimit, func(context.Context) (seen T, err error) {
		err = with(func() { seen = look() })
		return seen, err
	})
	if l.spent[who] += time.Since(began); errors.Is(err, context.DeadlineExceeded) || l.spent[who] >= userLimit {
		l.gaveUp[who] = context.DeadlineExceeded
	}
	return seen, err
}

// rightsOf returns what does something with the rights of a user.
func (m *machine) rightsOf(u userdb.User) (with func(func()) error, err error) {
	if u.UID == m.Owner {
		return func(f func()) error { f(); return nil }, nil
	}
	who, err := m.users()
	if err != nil {
		return nil, err
	}
	id := privilege.Identity{UID: u.UID, GID: u.GID}
	for _, g := range who.groups {
		if slices.Contains(g.Members, u.Name) {
			id.Groups = append(id.Groups, g.GID)
		}
	}
	return func(f func()) error { return privilege.Look(id, f) }, nil
}
