// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"os"
	"path/filepath"
	"time"
)

// databases are the files, or folders with a file for each package, that a package manager writes with
// each package that it installs, updates or removes.
var databases = []string{
	"var/lib/dpkg/status",
	"usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages",
	"var/lib/pacman/local",
	"lib/apk/db/installed", "usr/lib/apk/db/installed",
}

// Changed returns when packages of the system below root were installed, updated or removed last, by
// the data of its package manager; zero where there is none that is known here.
func Changed(root string) time.Time {
	var latest time.Time
	for _, name := range databases {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest
}
