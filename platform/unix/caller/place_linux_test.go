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
	_, leave, err := Place(path, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const ofAnOpenFile = -1 // F_OFD_GETLK of fcntl_locking(2)
	for _, want := range []unix.Flock_t{{Type: unix.F_WRLCK, Len: 1, Pid: ofAnOpenFile}, {Type: unix.F_UNLCK}} {
		got := unix.Flock_t{Type: unix.F_WRLCK}
		if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &got); err != nil || got.Type != want.Type || got.Len != want.Len || got.Pid != want.Pid {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if want.Type == unix.F_WRLCK {
			leave()
		}
	}
}
