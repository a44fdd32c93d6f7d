// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"os"
	"path/filepath"

	"sentinel/internal/fault"
	"sentinel/internal/installed"
	"sentinel/internal/trust"
)

// A locator returns the absolute path of the sentinel binary, or a
// SENTINEL_NOT_FOUND. It is asked at every call, so that a server which was started
// before sentinel was installed finds it later.
type locator func() (string, error)

// locate returns the locator for the path given on the command line, or for the
// directory of this executable. PATH is not searched: the user's PATH must not decide what runs as
// root. A sentinel where its user can write, as in a client's bundle, never runs as root; the one
// that root has installed, if there is one, is preferred because it can do more.
func locate(given string) locator {
	return func() (string, error) {
		path := given
		if path == "" {
			var err error
			if path, err = besideSelf(); err != nil {
				return "", fault.Wrap(fault.SentinelNotFound, "sentinel-mcp cannot tell where it is installed", err)
			}
		}
		if better, ok := rootInstalled(); ok && given == "" && trust.RootOnly.File(path) != nil {
			path = better
		}
		if err := runnable(path); err != nil {
			return "", fault.Wrap(fault.SentinelNotFound, "The sentinel binary cannot be run", err)
		}
		return path, nil
	}
}

// rootInstalled returns the sentinel that root has installed.
func rootInstalled() (string, bool) {
	for _, path := range installed.Paths(installed.Sentinel) {
		if runnable(path) == nil && trust.RootOnly.File(path) == nil {
			return path, true
		}
	}
	return "", false
}

// besideSelf returns the path of sentinel in the directory of this executable,
// after following symbolic links.
func besideSelf() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(own), installed.Sentinel), nil
}
