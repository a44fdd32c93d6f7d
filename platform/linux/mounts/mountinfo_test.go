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

	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
)

// parseTable reads a table as that of the live system.
func parseTable(raw []byte) ([]*mountinfo.Info, error) {
	return readTable(bytes.NewReader(raw), maxRead)
}

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

// The kernel prints 12 bits of major number and 20 bits of minor as one number.
func TestAConnectionIsTheWholeNumberOfADevice(t *testing.T) {
	for want, m := range map[uint64]mountinfo.Info{49: {Minor: 49}, 8388657: {Major: 8, Minor: 49}, 271581249: {Major: 259, Minor: 65}, 4294967295: {Major: 4095, Minor: 1048575}} {
		if got := Connection(&m); got != want {
			t.Errorf("%d:%d: %d, want %d", m.Major, m.Minor, got, want)
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
		"\n", strings.Repeat("x", 100), strings.Repeat("x", 9<<20), strings.Repeat("x ", 5<<20), strings.Repeat("- ", 5<<20),
		"27 1 259:2 / " + strings.Repeat("x", 1<<16) + " rw - a b\n", "27 1 259 / /" + strings.Repeat("x", 1<<16) + " rw - a b c\n",
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
	line := "27 1 259:2 / /" + strings.Repeat("x", 4000) + " rw - ext4 /dev/a rw\n"
	most := maxKept / len("/"+"/"+strings.Repeat("x", 4000)+"rw"+"ext4"+"/dev/a"+"rw")
	for n, want := range map[int]error{most: nil, most + 1: hostfile.ErrTooLarge} {
		table, err := parseTable([]byte(strings.Repeat(line, n)))
		if !errors.Is(err, want) || want == nil && len(table) != n || want != nil && table != nil {
			t.Errorf("%d lines: %d mounts, %v", n, len(table), err)
		}
	}
	const short = "27 1 259:2 / /x rw - ext4 /dev/a rw\n"
	for n, want := range map[int]error{maxMounts: nil, maxMounts + 1: hostfile.ErrTooLarge} {
		if table, err := parseTable([]byte(strings.Repeat(short, n))); !errors.Is(err, want) || want == nil && len(table) != n {
			t.Errorf("%d lines: %d mounts, %v", n, len(table), err)
		}
	}
	for less, want := range map[int64]error{0: nil, 1: errRead, 40: errRead, 100: errRead} {
		text := strings.Repeat(short, 10)
		table, err := readTable(strings.NewReader(text), int64(len(text))-less)
		if !errors.Is(err, want) || len(table) != 10-int(less+int64(len(short))-1)/len(short) {
			t.Errorf("%d bytes less than there are: %d mounts, %v", less, len(table), err)
		}
	}
}

// A run reads several tables, on hosts with hundreds of mounts.
func TestAMountTableTakesLittleMemory(t *testing.T) {
	const mounts, most = 1000, 2000 // bytes a mount
	raw := []byte(strings.Repeat("27 1 259:2 / /x rw - ext4 /dev/a rw\n", mounts))
	took := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if table, err := parseTable(raw); err != nil || len(table) != mounts {
				b.Fatal(len(table), err)
			}
		}
	})
	if each := took.AllocedBytesPerOp() / mounts; each < 100 || each > most {
		t.Errorf("%d bytes a mount", each)
	}
}

// A table of another tree, or of a process in namespaces of a user's, is not asked for in another way.
func TestATableThatIsTooLongIsTold(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/7/mountinfo", strings.Repeat("27 1 259:2 / /x rw - ext4 /dev/a rw\n", maxReadOther/30))
	if table, err := New(root).TableOf(procfs.New(root), 7); table != nil || !errors.Is(err, hostfile.ErrTooLarge) {
		t.Errorf("%d mounts, %v", len(table), err)
	}
}

// far is the path of a directory that its owner has moved below n others, whose names are 250 blanks.
func farPath(n int) string { return strings.Repeat("/"+strings.Repeat(`\040`, 250), n) + "/a/mnt" }

const users = " rw,nosuid,nodev,relatime - fuse.x x rw,user_id=54321,group_id=54321\n"

// Whatever an ordinary user mounts, and wherever they move it, the other mounts are told.
func TestMountsOfAUserTakeNothingFromOthers(t *testing.T) {
	const system, after = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", "9 1 0:40 / /home rw - nfs4 files:/home rw,addr=192.0.2.20\n"
	for name, c := range map[string]struct {
		users string
		n     int
	}{
		"one line of 75 KiB":                    {"5 1 0:50 / /home/eve" + farPath(75) + users, 1},
		"one line of 20 MiB":                    {"5 1 0:50 / /home/eve" + farPath(20_000) + users, 1},
		"as many as fuse.conf lets them":        {strings.Repeat("5 1 0:50 / /home/eve"+farPath(15)+users, 1000), 1000},
		"with the longest sources":              {strings.Repeat("5 1 0:50 / /home/eve"+farPath(15)+strings.Replace(users, " x ", " "+strings.Repeat(`\040`, 4095)+" ", 1), 1000), 1000},
		"more of them than the bound of others": {strings.Repeat("5 1 0:50 / /home/eve/"+strings.Repeat("x", 4000)+users, 2*maxKept/4000), 2 * maxKept / 4000},
	} {
		table, err := parseTable([]byte(system + c.users + after))
		if err != nil || len(table) != c.n+2 {
			t.Errorf("%s: %d mounts, %v", name, len(table), err)
			continue
		}
		if first, last := table[0], table[len(table)-1]; first.Mountpoint != "/" || last.Mountpoint != "/home" || last.VFSOptions != "rw,addr=192.0.2.20" {
			t.Errorf("%s: %+v, %+v", name, first, last)
		}
		for _, m := range table[1 : c.n+1] {
			if m.ID != 5 || m.Minor != 50 || m.FSType != "fuse.x" || Mounter(m) != 54321 || len(m.Mountpoint) > MaxPath {
				t.Fatalf("%s: %.200v", name, m)
			}
		}
	}
}

// What is known of a mount is told, but for a path that is too long.
func TestPathsThatAreTooLongAreLeftOut(t *testing.T) {
	long, deep, edge := "/"+strings.Repeat("x", MaxPath), farPath(9000), "/"+strings.Repeat(`\134`, MaxPath-1)
	for name, c := range map[string]struct{ root, point, wantRoot, wantPoint string }{
		"the longest that are told":        {edge, edge, strings.ReplaceAll(edge, `\134`, `\`), strings.ReplaceAll(edge, `\134`, `\`)},
		"a mount point":                    {"/sub", long, "/sub", ""},
		"a root":                           {long, "/srv/www", "", "/srv/www"},
		"both":                             {long, long, "", ""},
		"a mount point of megabytes":       {"/sub", deep, "/sub", ""},
		"a root of megabytes":              {deep, "/srv/www", "", "/srv/www"},
		"both of megabytes":                {deep, deep, "", ""},
		"a root that is no path":           {"net:[4026532281]", long, "net:[4026532281]", ""},
		"a cut where the root may end":     {"/" + strings.Repeat("r", lineHead-len("40 27 8:17 /")), deep, "", ""},
		"a cut behind the root":            {"/" + strings.Repeat("r", lineHead-len("40 27 8:17 /")-1), deep, "/" + strings.Repeat("r", lineHead-len("40 27 8:17 /")-1), ""},
		"a name that looks like the rest":  {"/", long + "/-", "/", ""},
		"a mount point that looks like it": {"/", deep + "/shared:1", "/", ""},
	} {
		for _, optional := range []string{"", "shared:1 ", "shared:2 master:3 propagate_from:4 ", "unbindable "} {
			table, err := parseTable([]byte("40 27 8:17 " + c.root + " " + c.point + " ro,nosuid " + optional + "- vfat /dev/sdb1 rw,uid=7\n"))
			want := &mountinfo.Info{
				ID: 40, Parent: 27, Major: 8, Minor: 17, Root: c.wantRoot, Mountpoint: c.wantPoint, Options: "ro,nosuid",
				Optional: strings.TrimSpace(optional), FSType: "vfat", Source: "/dev/sdb1", VFSOptions: "rw,uid=7",
			}
			if err != nil || len(table) != 1 || *table[0] != *want {
				t.Errorf("%s, %q: %v, %d mounts", name, optional, err, len(table))
			}
		}
	}
}

// An overlay of hundreds of layers is told without the names of the last ones.
func TestOptionsThatAreTooLongAreCut(t *testing.T) {
	table, err := parseTable([]byte("40 27 0:50 / /merged rw - overlay overlay ro,lowerdir=/a" + strings.Repeat(",lowerdir+=/x", 10_000) + "\n"))
	if err != nil || len(table) != 1 || table[0].Mountpoint != "/merged" || !HasOption(table[0].VFSOptions, "ro") || !strings.HasSuffix(table[0].VFSOptions, ",lowerdir+=/x") {
		t.Errorf("%d mounts, %v", len(table), err)
	}
}

// What anybody else has mounted counts against the bound of the others.
func TestWhatAUserHasMounted(t *testing.T) {
	for line, want := range map[string]bool{
		"rw,nosuid,nodev - fuse.sshfs x rw,user_id=1000,group_id=1000": true, "rw,nosuid,nodev - fuse x rw,user_id=1000": true,
		"rw,nosuid,nodev - fuse.sshfs x rw,user_id=0,group_id=0": false, "rw,nosuid,nodev - fuse.sshfs x rw": false, "rw,nosuid,nodev - fuse.sshfs x rw,user_id=x": false,
		"rw,nosuid - fuse.sshfs x rw,user_id=1000": false, "rw,nodev - fuse.sshfs x rw,user_id=1000": false,
		"rw,nosuid,nodev - fuseblk /dev/sdb1 rw,user_id=1000": false, "rw,nosuid,nodev - fusectl x rw,user_id=1000": false, "rw,nosuid,nodev - cifs x rw,user_id=1000": false,
	} {
		table, err := parseTable([]byte("40 27 0:50 / /x " + line + "\n"))
		if err != nil || ofUser(table[0]) != want {
			t.Errorf("%s: %v, want %v", line, err, want)
		}
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
	f.Add([]byte("5 1 0:50 / /" + strings.Repeat("x", MaxPath) + users + "6 1 0:51 /" + strings.Repeat("x", MaxPath) + " /y ro shared:1 - xfs /dev/a rw\n"))
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
			if m.Mountpoint != "" && !strings.HasPrefix(m.Mountpoint, "/") || len(m.Mountpoint) > MaxPath || len(m.Root) > MaxPath {
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
