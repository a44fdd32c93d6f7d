// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Modes returns the modes of the files below root, and of directories called
// "secrets", by their paths below root.
func Modes(t testing.TB, root string) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() != "secrets" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(path, root)] = info.Mode().Perm()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
