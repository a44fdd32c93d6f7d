// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// What the kernel tells of a file may take as long as its user likes, who can lock it hundreds of
// thousands of times. A FIFO stands for that.
func TestWhatIsToldOfAFileIsNotWaitedFor(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"proc/9/fd/": "", "proc/9/fdinfo/": "", "proc/9/fdinfo/4": "tty-index:\t7\n"})
	for _, fd := range []string{"3", "4"} {
		if err := os.Symlink("/dev/ptmx", filepath.Join(root, "proc/9/fd", fd)); err != nil {
			t.Fatal(err)
		}
	}
	slow := filepath.Join(root, "proc/9/fdinfo/3")
	if err := unix.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // lets go of the thread that waits
		if fd, err := unix.Open(slow, unix.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
			unix.Close(fd)
		}
	})
	reader, err := New(root).FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	told := map[int]string{}
	look := func(f OpenFile) bool {
		told[f.FD] = string(f.About())
		return true
	}
	var before, charged time.Duration
	err = reader.Files(9, func(f OpenFile) bool {
		if f.FD == 4 {
			charged = spent(reader)
			return true
		}
		before = spent(reader)
		return look(f)
	})
	if told[3] != "" || charged <= before || err != nil {
		t.Errorf("%q was told; charged %v and before %v; %v", told[3], charged, before, err)
	}
	quick, err := New(root).FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer quick.Close()
	if err := os.Remove(filepath.Join(root, "proc/9/fd/3")); err != nil {
		t.Fatal(err)
	}
	if err := quick.Files(9, look); told[4] != "tty-index:\t7\n" || err != nil {
		t.Errorf("%q, %v", told[4], err)
	}
}

// spent is the time that was spent on all accounts.
func spent(r *FileReader) (all time.Duration) {
	for _, d := range r.all {
		all += d
	}
	return all
}
