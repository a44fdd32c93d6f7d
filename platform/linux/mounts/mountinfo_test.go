// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMountinfoLinesAreReadInFull(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       entry
	}{
		{
			"plain",
			`27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro`,
			entry{id: 27, parent: 1, device: Device{259, 2}, root: "/", mountpoint: "/", fstype: "ext4", source: "/dev/nvme0n1p2"},
		},
		{
			"no optional field, blank and backslash in the path",
			`40 27 8:17 / /media/My\040Disk\134x rw - vfat /dev/sdb1 rw`,
			entry{id: 40, parent: 27, device: Device{8, 17}, root: "/", mountpoint: `/media/My Disk\x`, fstype: "vfat", source: "/dev/sdb1"},
		},
		{
			"several optional fields, read-only mount of a writable file system",
			`41 27 8:1 /a /b ro,nosuid shared:2 master:3 propagate_from:4 - xfs /dev/sda1 rw`,
			entry{id: 41, parent: 27, device: Device{8, 1}, root: "/a", mountpoint: "/b", fstype: "xfs", source: "/dev/sda1", readOnly: true},
		},
		{
			"read-only file system",
			`42 27 8:1 / /c rw - ext4 /dev/sda1 ro`,
			entry{id: 42, parent: 27, device: Device{8, 1}, root: "/", mountpoint: "/c", fstype: "ext4", source: "/dev/sda1", readOnly: true},
		},
		{
			"empty source",
			`43 27 0:44 / /d rw -  ` + ``,
			entry{},
		},
		{
			"options that only begin with ro",
			`44 27 0:45 / /e rw,rootcontext=x - tmpfs  rw,rows`,
			entry{id: 44, parent: 27, device: Device{0, 45}, root: "/", mountpoint: "/e", fstype: "tmpfs"},
		},
		{
			"a mountpoint called dash",
			`45 27 0:46 / - rw - tmpfs none rw`,
			entry{id: 45, parent: 27, device: Device{0, 46}, root: "/", mountpoint: "-", fstype: "tmpfs", source: "none"},
		},
	} {
		got, err := parseEntry([]byte(c.line))
		if (err != nil) != (c.want == entry{}) {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestDamagedMountinfoIsRefusedWhole(t *testing.T) {
	const good = "27 1 259:2 / / rw - ext4 /dev/a rw\n"
	if list, err := parseMountinfo([]byte(good + "\n" + good)); err != nil || len(list) != 2 {
		t.Fatalf("good: %d entries, %v", len(list), err)
	}
	for _, bad := range []string{
		"27 1 259:2 / / rw - ext4\n", "27 1 259:2 / / rw ext4 /dev/a rw x\n", "x 1 259:2 / / rw - a b c\n",
		"27 y 259:2 / / rw - a b c\n", "27 1 259 / / rw - a b c\n", "27 1 -1:2 / / rw - a b c\n",
		"27 1 4294967296:2 / / rw - a b c\n", "27 1 259:2 /  rw - a b c\n", strings.Repeat("x", 100),
	} {
		if list, err := parseMountinfo([]byte(good + bad)); !errors.Is(err, ErrFormat) || list != nil {
			t.Errorf("%q: %v, %v", bad, list, err)
		}
	}
}

func TestOctalEscapesAreUndoneOnce(t *testing.T) {
	for in, want := range map[string]string{
		`a\040b`: "a b", `\134040`: `\040`, `\04`: `\04`, `\400`: `\400`, `\089`: `\089`, `a\`: `a\`, `\377`: "\xff", `\011\012\043`: "\t\n#",
	} {
		if got := unescape([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add([]byte("27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n28 27 0:5 / /a\\040b ro - tmpfs  rw\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseMountinfo(b)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.mountpoint == "" {
				t.Errorf("accepted a mount nowhere in %q", b)
			}
		}
		for _, e := range local(entries) {
			if e.mountpoint != "/" && e.fstype == "squashfs" {
				t.Errorf("kept an image: %+v", e)
			}
		}
	})
}
