// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

func TestAReadOnlyMountIsToldAndRefused(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	l := begin(t, filepath.Join(dir, "log"), "AAAA")
	if err := called(l, "{}"); err != nil {
		t.Fatal(err)
	}
	l.Close(0)
	if err := errors.Join(syscall.Mount(dir, dir, "", syscall.MS_BIND, ""), syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(dir, 0)
	l = begin(t, filepath.Join(dir, "log"), "BBBB")
	if err := called(l, "{}"); !errors.Is(err, syscall.EROFS) {
		t.Error(err)
	}
	l.Close(0)
	if r := verified(t, filepath.Join(dir, "log")); r.ProblemsTotal != 0 || r.Records != 5 {
		t.Errorf("what was recorded before can be read: %+v", r)
	}
}
