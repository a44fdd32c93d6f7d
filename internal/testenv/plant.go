// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Plant writes files below a new root directory, which it returns. A name that ends
// with a slash is an empty directory.
func Plant(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil { // a real one is not writable for a group either
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		directory := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			directory = path
		}
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if directory == path {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { // some are programs
			t.Fatal(err)
		}
	}
	return root
}
