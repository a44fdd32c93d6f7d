// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

func TestFullDiskKeepsTheOldContent(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "state.json")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 128<<10)
	for _, err := range []error{Write(path, large, 0o600), Create(path+"2", large, 0o600)} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v", err)
		}
	}
	check(t, path, "old", 0o600)
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}
