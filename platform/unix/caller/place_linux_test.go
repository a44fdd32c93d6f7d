// SPDX-License-Identifier: Apache-2.0

package caller

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread with a table of open files of its own, which waits for a file system, keeps the place of its process.
func TestAPlaceIsThatOfAnOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places")
	if _, err := Place(path, 0, 2); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const ofAnOpenFile = -1 // F_OFD_GETLK of fcntl_locking(2)
	got := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &got); err != nil || got.Type != unix.F_WRLCK || got.Len != 1 || got.Pid != ofAnOpenFile {
		t.Errorf("%+v, %v", got, err)
	}
}
