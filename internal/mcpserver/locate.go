// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"os"
	"path/filepath"

	"sentinel/internal/fault"
)

// A locator returns the absolute path of the sentinel binary, or a
// SENTINEL_NOT_FOUND. It is asked at every call, so that a server that was started
// before sentinel was installed heals by itself.
type locator func() (string, error)

// locate returns the locator for the path given on the command line, or for
// the folder of the own executable. PATH is not searched: the user's PATH must not decide what
// is run as root.
func locate(given string) locator {
	return func() (string, error) {
		path := given
		if path == "" {
			var err error
			if path, err = beside(); err != nil {
				return "", fault.Wrap(fault.SentinelNotFound, "sentinel-mcp cannot tell where it is installed", err)
			}
		}
		if err := runnable(path); err != nil {
			return "", fault.Wrap(fault.SentinelNotFound, "The sentinel binary cannot be run", err)
		}
		return path, nil
	}
}

// beside returns the path of sentinel in the folder where the own executable
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
