// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path"
	"strings"

	"sentinel/platform/darwin/prefs"
	"sentinel/platform/unix/hostfile"
)

// A account is somebody with a home below /Users.
type account struct {
	name string
	home string // "/Users/mira"
	uid  int    // owner of the home
}

// persons lists the homes in /Users. Shared is for all; names that begin with a
// dot are of the system.
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

// readBelow reads a file of a user without leaving the home by a link.
func (m *machine) readBelow(home, name string) ([]byte, hostfile.Meta, error) {
	return hostfile.ReadBelow(m.path(home), name, maxFile)
}

// namesBelow returns the sorted names in a directory of a user, at most limit; more
// are an error. A link out of the home is one as well.
func (m *machine) namesBelow(home, dir string, limit int) ([]string, error) {
	return hostfile.NamesBelow(m.path(home), dir, limit)
}

// byHost is where a home has the preferences that hold for this Mac alone.
const byHost = "Library/Preferences/ByHost"

// byHost lists such files of a user by the beginning of their names; the rest is
// the number of the Mac.
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

// readByHost reads one of them, and no file elsewhere that it leads to.
func (m *machine) readByHost(p account, name string) (prefs.Domain, error) {
	raw, _, err := m.readBelow(p.home, path.Join(byHost, name))
	if err != nil {
		return prefs.Domain{}, err
	}
	return prefs.Parse(path.Join(p.home, byHost, name), raw)
}
