// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"os"
	"path/filepath"

	"sentinel/internal/fault"
	"sentinel/internal/trust"
)

// A locator returns the absolute path of the sentinel binary, or a
// SENTINEL_NOT_FOUND. It is asked at every call, so that a server that was started
// before sentinel was installed heals by itself.
type locator func() (string, error)

// installed are the places of packages and of "make install", where root alone
// writes.
var installed = []string{"/usr/local/bin/sentinel", "/opt/sentinel/bin/sentinel", "/usr/bin/sentinel"}

// locate returns the locator for the path given on the command line, or for
// the directory of the own executable. PATH is not searched: the user's PATH must not decide what
// is run as root. A sentinel that lies where its user can write, as in a bundle of a client, never
// runs as root; the one that root has installed does more and comes first then.
func locate(given string) locator {
	return func() (string, error) {
		path := given
		if path == "" {
			var err error
			if path, err = beside(); err != nil {
				return "", fault.Wrap(fault.SentinelNotFound, "sentinel-mcp cannot tell where it is installed", err)
			}
		}
		if better, ok := byRoot(); ok && given == "" && trust.RootOnly.File(path) != nil {
			path = better
		}
		if err := runnable(path); err != nil {
			return "", fault.Wrap(fault.SentinelNotFound, "The sentinel binary cannot be run", err)
		}
		return path, nil
	}
}

// byRoot returns the sentinel that root has installed.
func byRoot() (string, bool) {
	for _, path := range installed {
		if runnable(path) == nil && trust.RootOnly.File(path) == nil {
			return path, true
		}
	}
	return "", false
}

// beside returns the path of sentinel in the directory where the own executable
// really lies, symbolic links followed.
func beside() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(own), "sentinel"), nil
}
