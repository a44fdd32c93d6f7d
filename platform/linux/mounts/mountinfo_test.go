// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"

	"sentinel/platform/unix/hostfile"
)

func TestMountinfoLinesAreReadInFull(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       mountinfo.Info
	}{
		{
			"plain",
			`27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro`,
			mountinfo.Info{ID: 27, Parent: 1, Major: 259, Minor: 2, Root: "/", Mountpoint: "/", Options: "rw,relatime", Optional: "shared:1", FSType: "ext4", Source: "/dev/nvme0n1p2", VFSOptions: "rw,errors=remount-ro"},
		},
		{
			"no optional field, blank and backslash in the path",
			`40 27 8:17 / /media/My\040Disk\134x rw - vfat /dev/sdb1 rw`,
			mountinfo.Info{ID: 40, Parent: 27, Major: 8, Minor: 17, Root: "/", Mountpoint: `/media/My Disk\x`, Options: "rw", FSType: "vfat", Source: "/dev/sdb1", VFSOptions: "rw"},
		},
		{
			"several optional fields",
			`41 27 8:1 /a /b ro,nosuid shared:2 master:3 propagate_from:4 - xfs /dev/sda1 rw`,
			mountinfo.Info{ID: 41, Parent: 27, Major: 8, Minor: 1, Root: "/a", Mountpoint: "/b", Options: "ro,nosuid", Optional: "shared:2 master:3 propagate_from:4", FSType: "xfs", Source: "/dev/sda1", VFSOptions: "rw"},
		},
		{
			"an empty source",
			`44 27 0:45 / /e rw,rootcontext=x - tmpfs  rw,rows`,
			mountinfo.Info{ID: 44, Parent: 27, Minor: 45, Root: "/", Mountpoint: "/e", Options: "rw,rootcontext=x", FSType: "tmpfs", VFSOptions: "rw,rows"},
		},
		{
			"fields that are a dash",
			`45 27 0:46 - /- - - tmpfs - -`,
			mountinfo.Info{ID: 45, Parent: 27, Minor: 46, Root: "-", Mountpoint: "/-", Options: "-", FSType: "tmpfs", Source: "-", VFSOptions: "-"},
		},
		{
			"a root that is no path, as nsfs has it",
			`46 27 0:4 net:[4026532281] /run/netns/a rw - nsfs nsfs rw`,
			mountinfo.Info{ID: 46, Parent: 27, Minor: 4, Root: "net:[4026532281]", Mountpoint: "/run/netns/a", Options: "rw", FSType: "nsfs", Source: "nsfs", VFSOptions: "rw"},
		},
	} {
		got, err := parseTable([]byte(c.line + "\n"))
		if diff := cmp.Diff([]*mountinfo.Info{&c.want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}

func TestOptionsAreComparedWhole(t *testing.T) {
	for list, want := range map[string]bool{"ro": true, "rw,ro": true, "ro,nosuid": true, "rw,relatime": false, "rw,rootcontext=x": false, "errors=remount-ro": false, "": false} {
		if got := HasOption(list, "ro"); got != want {
			t.Errorf("%q: %v, want %v", list, got, want)
		}
	}
}

func TestDamagedMountinfoIsRefusedWhole(t *testing.T) {
	const good = "27 1 259:2 / / rw - ext4 /dev/a rw\n"
	if list, err := parseTable([]byte(good + good)); err != nil || len(list) != 2 {
		t.Fatalf("good: %d entries, %v", len(list), err)
	}
	for _, bad := range []string{
		"27 1 259:2 / / rw - ext4\n", "27 1 259:2 / / rw ext4 /dev/a rw x\n", "43 27 0:44 / /d rw -  \n",
		"27 1 259 / / rw - a b c\n", "27 1 -1:2 / / rw - a b c\n", "27 1 259:-2 / / rw - a b c\n",
		"27 1 4294967296:2 / / rw - a b c\n", "27 1 259:2 /  rw - a b c\n", "27 1 259:2 / relative rw - a b c\n",
		"\n", strings.Repeat("x", 100), "27 1 259:2 / /" + strings.Repeat("x", 1<<16) + " rw - a b c\n",
	} {
		list, err := parseTable([]byte(good + bad))
		if !errors.Is(err, ErrFormat) || list != nil {
			t.Errorf("%.80q: %v, %v", bad, list, err)
		}
		if err != nil && err.Error() != ErrFormat.Error() {
			t.Errorf("%.80q: the error holds text of the host: %.80q", bad, err)
		}
	}
}

func TestAMountTableIsBounded(t *testing.T) {
	root := t.TempDir()
	line := "27 1 259:2 / /" + strings.Repeat("x", 4000) + " rw - ext4 /dev/a rw\n"
	write(t, root, "proc/self/mountinfo", strings.Repeat(line, maxMountinfo/len(line)))
	if table, err := New(root).Table(); err != nil || len(table) != maxMountinfo/len(line) {
		t.Errorf("%d mounts, %v", len(table), err)
	}
	write(t, root, "proc/self/mountinfo", strings.Repeat(line, maxMountinfo/len(line)+1))
	if table, err := New(root).Table(); table != nil || !errors.Is(err, hostfile.ErrTooLarge) {
		t.Errorf("%d mounts, %v", len(table), err)
	}
}

// The kernel escapes blank, tab, line feed, backslash and number sign, and
// passes every other byte.
func TestOctalEscapesAreUndoneOnce(t *testing.T) {
	for in, want := range map[string]string{
		`a\040b`: "a b", `\134040`: `\040`, `\04`: `\04`, `\400`: `\400`, `\089`: `\089`, `a\`: `a\`, `\011\012\043`: "\t\n#", "\xff\xc3\xa9": "\xff\xc3\xa9",
	} {
		table, err := parseTable([]byte("27 1 259:2 /" + in + " /" + in + " rw - ext4 " + in + " rw\n"))
		if err != nil || table[0].Root != "/"+want || table[0].Mountpoint != "/"+want || table[0].Source != want {
			t.Errorf("%s: %+v, %v, want %q", in, table, err, want)
		}
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add([]byte("27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n28 27 0:5 / /a\\040b ro - tmpfs  rw\n"))
	f.Add([]byte("1 1 1:1 - - - - - - - -\n- - - - - - - - - - - -\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := parseTable(b)
		if err != nil {
			return
		}
		if lines := bytes.Count(b, []byte("\n")) + 1; len(table) > lines {
			t.Errorf("%d mounts in %d lines", len(table), lines)
		}
		for _, m := range table {
			if !strings.HasPrefix(m.Mountpoint, "/") {
				t.Errorf("accepted a mount at %q in %q", m.Mountpoint, b)
			}
			if d, err := ParseDevice(strconv.Itoa(m.Major) + ":" + strconv.Itoa(m.Minor)); err != nil || d != DeviceOf(m) {
				t.Errorf("device %d:%d became %v, %v", m.Major, m.Minor, d, err)
			}
		}
		for _, m := range local(table) {
			if m.Mountpoint != "/" && m.Type == "squashfs" {
				t.Errorf("kept an image: %+v", m)
			}
		}
	})
}
