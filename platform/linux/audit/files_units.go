// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"path"
	"slices"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

func unitPermissions(_ context.Context, m *machine) audit.Finding {
	v := fileVerdict{okValue: "root alone can change them", fix: "Give each one that is named back to root: sudo chown root:root FILE; sudo chmod go-w FILE. Then read what it starts."}
	for _, directory := range unitDirs {
		directory = path.Clean(directory)
		if end, _, err := m.follow(directory, m.byRoot); err == nil && end != directory && slices.Contains(unitDirs, end+"/") {
			continue // /lib is a link to /usr/lib
		}
		for _, name := range v.checkPaths(m, directory) {
			if !slices.Contains(unitFolders, path.Ext(name)) {
				continue
			}
			if v.seen > maxUnitFiles {
				v.noteUnread(directory, hostfile.ErrTooLarge)
				break
			}
			v.checkPaths(m, directory+"/"+name)
		}
	}
	v.checkPaths(m, "/etc/init.d")
	v.checkPath(m, "/etc/rc.local")
	return v.finding()
}

// unitFolders are the endings of folders in unitDirs: of parts of a unit, and of links to what it starts.
var unitFolders = []string{".d", ".wants", ".requires", ".upholds"}

// maxUnitFiles bounds what is looked at in the folders of units.
const maxUnitFiles = 20_000
