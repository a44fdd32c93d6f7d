// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sentinel/internal/atomicfile"
)

// WatchName is the file in the directory of state that keeps the shipped job of launchd running
// again and again as long as it exists (KeepAlive, PathState in launchd.plist(5)).
const WatchName = "watch"

// Watch makes or removes that file.
func Watch(stateDir string, on bool) error {
	path := filepath.Join(stateDir, WatchName)
	if !on {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return atomicfile.Write(path, nil, 0o644)
}
