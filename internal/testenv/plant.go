// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Nested makes directories of one name within one another, deeper than the kernel takes a path, and returns the
// last.
func Nested(t testing.TB, dir, name string, levels int) *os.Root {
	t.Helper()
	at, err := os.OpenRoot(dir)
	for range levels {
		var next *os.Root
		if err == nil {
			err = at.Mkdir(name, 0o755)
		}
		if err == nil {
			next, err = at.OpenRoot(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = next
	}
	t.Cleanup(func() { at.Close() })
	return at
}

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

// PlantStuck makes a file that cannot be opened for reading before the test has ended.
func PlantStuck(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // ENXIO where nobody reads
			f.Close()
		}
	})
}
