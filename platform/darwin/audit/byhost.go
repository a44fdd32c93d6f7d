// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path"
	"strings"

	"sentinel/platform/darwin/prefs"
)

// byHost is where a home has the preferences that hold for this Mac alone.
const byHost = "Library/Preferences/ByHost"

// byHost lists such files of a user by the beginning of their names; the rest is
// the number of the Mac.
func (m *machine) byHost(p person, prefix string) ([]string, error) {
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
func (m *machine) readByHost(p person, name string) (prefs.Domain, error) {
	raw, _, err := m.readBelow(p.home, path.Join(byHost, name))
	if err != nil {
		return prefs.Domain{}, err
	}
	return prefs.Of(path.Join(p.home, byHost, name), raw)
}
