// SPDX-License-Identifier: Apache-2.0

package audit

import "strings"

// byHost lists the preference files of a user that hold for this Mac alone, by
// the beginning of their names; the rest is the number of the Mac.
func (m *machine) byHost(p person, prefix string) ([]string, error) {
	folder := p.home + "/Library/Preferences/ByHost"
	names, err := m.names(folder, maxNames)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ".plist") {
			files = append(files, folder+"/"+name)
		}
	}
	return files, nil
}
