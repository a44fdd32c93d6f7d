// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// To name a file in a descriptor with O_PATH takes no right on it. One that neither reads nor writes is open for
// ioctl(2) (open(2)).
func TestADescriptorThatOnlyNamesAFileIsNotOpen(t *testing.T) {
	const neither = 3
	want := map[int]bool{}
	for flags, opened := range map[int]bool{unix.O_PATH: false, unix.O_RDONLY: true, unix.O_WRONLY: true, unix.O_RDWR: true, neither: true} {
		fd, err := unix.Open("/dev/null", flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		want[fd] = opened
	}
	closed, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = reader(t, New("/")).Files(os.Getpid(), func(f OpenFile) bool {
		if f.FD == closed {
			unix.Close(closed)
			want[closed] = false
		}
		if opened, ours := want[f.FD]; ours && f.Opened() != opened {
			t.Errorf("%d: %t", f.FD, !opened)
		}
		return true
	})
	if _, seen := want[closed]; err != nil || !seen {
		t.Errorf("%v", err)
	}
}

func TestFlagsTellWhatIsOpen(t *testing.T) {
	for about, want := range map[string]bool{
		"pos:\t0\nflags:\t02100003\nmnt_id:\t15\n": true, "pos:\t0\nflags:\t012000000\nmnt_id:\t15\n": false,
		"flags:\t010000000": false, "flags:\t02\n": true, "flags:\tx\n": false, "flags:\n": false, "pos:\t0\n": false, "": false,
	} {
		if got := opens([]byte(about)); got != want {
			t.Errorf("%q: %t", about, got)
		}
	}
}

func FuzzFlags(f *testing.F) {
	f.Add([]byte("pos:\t0\nflags:\t012000000\nmnt_id:\t15\n"))
	f.Fuzz(func(t *testing.T, about []byte) {
		if opens(about) && opens(append([]byte("flags:\t010000000\n"), about...)) {
			t.Errorf("%q: the first flags do not count", about)
		}
	})
}
