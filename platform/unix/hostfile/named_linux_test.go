// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Through /proc/PID/root and the like a user could lead root into a file system that never answers.
func TestNoPathLeadsThroughWhatAProcessHolds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(at("file"), []byte("x"), 0o600), os.Symlink("file", at("link")), os.Symlink("/proc/self/cwd", at("held")), os.Symlink("/proc/self/root"+at("file"), at("behind")),
	); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		read, stat, names error
		exists            bool
	}{
		"file":   {nil, nil, unix.ENOTDIR, true},
		"link":   {nil, nil, unix.ENOTDIR, true},
		".":      {ErrNotRegular, nil, nil, true},
		"none":   {unix.ENOENT, unix.ENOENT, unix.ENOENT, false},
		"held":   {unix.ELOOP, unix.ELOOP, unix.ELOOP, true},
		"held/x": {unix.ELOOP, unix.ELOOP, unix.ELOOP, false},
		"behind": {unix.ELOOP, unix.ELOOP, unix.ELOOP, true},
	} {
		_, readErr := Read(at(name), 10)
		_, statErr := Stat(at(name))
		_, namesErr := Names(at(name), 10)
		if !errors.Is(readErr, c.read) || !errors.Is(statErr, c.stat) || !errors.Is(namesErr, c.names) || Exists(at(name)) != c.exists {
			t.Errorf("%s: %v, %v, %v, there: %v", name, readErr, statErr, namesErr, !c.exists)
		}
	}
	link, err := Lstat(at("held"))
	if err != nil || link.Mode&os.ModeSymlink == 0 {
		t.Errorf("the link itself: %v, %v", link, err)
	}
}
