// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"sentinel/internal/privilege"
	"sentinel/platform/darwin/prefs"
	"sentinel/platform/unix/hostfile"
)

// An account is a user with a home in /Users.
type account struct {
	name string
	home string // "/Users/mira"
	uid  int    // owner of the home
}

// accounts lists the homes in /Users. Shared is for everybody, and names that begin
// with a dot belong to the system.
func (m *machine) accounts() ([]account, error) {
	return m.accountList.Get(func() ([]account, error) {
		names, err := m.names("/Users", maxHomes)
		if err != nil {
			return nil, err
		}
		var list []account
		for _, name := range names {
			home := "/Users/" + name
			f, err := m.stat(home)
			if name == "Shared" || name == "Guest" || strings.HasPrefix(name, ".") || err != nil || !f.Mode.IsDir() {
				continue
			}
			list = append(list, account{name, home, f.UID})
		}
		return list, nil
	})
}

// readBelow reads a file in a home without following links that lead out of it.
func (m *machine) readBelow(home, name string) ([]byte, hostfile.Meta, error) {
	return hostfile.ReadBelow(m.path(home), name, maxFile)
}

// staff is the group of every user of a Mac.
const staff = 20

// looksFor reports whether root looks with the rights of a user.
func (m *machine) looksFor(uid int) bool { return m.Root == "/" && m.privileged() && uid != m.Owner }

// statFor looks at a path that a user chose, with the rights of that user: what the user may not see is
// missing, and root tells nobody that it is there.
func (m *machine) statFor(uid int, name string) (f hostfile.Meta, err error) {
	if !m.looksFor(uid) {
		return m.stat(name)
	}
	failed := privilege.Look(privilege.Identity{UID: uid, GID: staff}, func() { f, err = m.stat(name) })
	if failed != nil {
		return f, failed
	}
	if errors.Is(err, fs.ErrPermission) {
		err = &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return f, err
}

// namesBelow returns the sorted names in a directory in a home. More than limit, and
// a link that leads out of the home, are errors.
func (m *machine) namesBelow(home, dir string, limit int) ([]string, error) {
	return hostfile.NamesBelow(m.path(home), dir, limit)
}

// byHost is the directory in a home with the preferences for this Mac only.
const byHost = "Library/Preferences/ByHost"

// byHost lists these files by the beginning of their names; the rest is the UUID
// of the Mac.
func (m *machine) byHost(p account, prefix string) ([]string, error) {
	names, err := m.namesBelow(p.home, byHost, maxNames)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ".plist") {
			files = append(files, name)
		}
	}
	return files, nil
}

// readByHost reads one of them, without following links that lead out of the home.
func (m *machine) readByHost(p account, name string) (prefs.Domain, error) {
	raw, _, err := m.readBelow(p.home, path.Join(byHost, name))
	if err != nil {
		return prefs.Domain{}, err
	}
	return prefs.Parse(path.Join(p.home, byHost, name), raw)
}
