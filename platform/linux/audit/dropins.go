// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"maps"
	"path"
	"slices"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// dropIns returns the files of several directories that are read as one: by their names, and of one name that in
// the first directory alone, which hides the others (systemd.unit(5), dnf5.conf(5)).
func (m *machine) dropIns(ending string, directories ...string) ([]string, error) {
	at := map[string]string{}
	for _, directory := range directories {
		names, err := m.names(directory, maxNames)
		if err != nil && !hostfile.Missing(err) {
			return nil, err
		}
		for _, name := range names {
			if _, hidden := at[name]; !hidden && strings.HasSuffix(name, ending) {
				at[name] = path.Join(directory, name)
			}
		}
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(at)) {
		files = append(files, at[name])
	}
	return files, nil
}
