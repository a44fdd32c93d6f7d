// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/health"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/processes"
)

// sourcesOf returns the readers for root.
func sourcesOf(root string) health.Sources { return Sources(root, processes.New(root)) }

// tree writes files below a new root.
func tree(t *testing.T, files map[string]string) source {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return newSource(root, processes.New(root))
}

func TestReadOnlyFileSystemsAreThoseThatShouldBeWritable(t *testing.T) {
	const rootLost = "1 0 8:1 / / ro,relatime - ext4 /dev/sda1 ro,errors=remount-ro\n"
	const fstabRoot = "# comment\nUUID=1 / ext4 errors=remount-ro 0 1\n"
	for name, c := range map[string]struct {
		mounts string
		files  map[string]string
		want   []string
	}{
		"root after an error":                {rootLost, map[string]string{"etc/fstab": fstabRoot}, []string{`"/" ("/dev/sda1": it is configured to be writable)`}},
		"root mounted with rw by the kernel": {rootLost, map[string]string{"proc/cmdline": "ro quiet rw root=/dev/sda1\n"}, []string{`"/" ("/dev/sda1": it is configured to be writable)`}},
		"mount alone is ro": {
			"1 0 8:1 / / ro,relatime - ext4 /dev/sda1 rw\n", map[string]string{"etc/fstab": fstabRoot}, nil,
		},
		"fstab says ro":         {rootLost, map[string]string{"etc/fstab": "UUID=1 / ext4 defaults,ro 0 1\n", "proc/cmdline": "ro\n"}, nil},
		"fstab says ro, twice":  {rootLost, map[string]string{"etc/fstab": "UUID=1 / ext4 defaults 0 1\nUUID=1 / ext4 remount,ro 0 1\n"}, nil},
		"nobody says anything":  {rootLost, nil, nil},
		"kernel was told ro":    {rootLost, map[string]string{"proc/cmdline": "rw ro\n"}, nil},
		"device is protected":   {rootLost, map[string]string{"etc/fstab": fstabRoot, "sys/dev/block/8:1/ro": "1\n"}, nil},
		"device can be written": {rootLost, map[string]string{"etc/fstab": fstabRoot, "sys/dev/block/8:1/ro": "0\n"}, []string{`"/" ("/dev/sda1": it is configured to be writable)`}},
		"snap, CD, container and sealed image": {
			"1 0 7:0 / /snap/core/1 ro - squashfs /dev/loop0 ro\n2 0 11:0 / /media/cd ro - iso9660 /dev/sr0 ro\n" +
				"3 0 0:88 / / ro - overlay overlay ro,lowerdir=a\n4 0 0:5 / /proc/sys ro - proc proc rw\n5 0 253:1 / /usr ro - ext4 /dev/dm-1 ro\n6 0 0:30 / /sys ro - sysfs sysfs ro\n",
			map[string]string{"etc/fstab": "overlay / overlay defaults 0 0\n/dev/sr0 /media/cd udf,iso9660 user,noauto 0 0\n"}, nil,
		},
		"another file system lies where fstab mounts one": {
			"1 0 8:9 / /data ro - xfs /dev/sdb9 ro\n", map[string]string{"etc/fstab": "/dev/sdb1 /data ext4 defaults 0 2\n"}, nil,
		},
		"bind mount of fstab": {
			"1 0 8:1 /a /b ro - ext4 /dev/sda1 ro\n", map[string]string{"etc/fstab": "/a /b none bind 0 0\n"}, nil,
		},
		"one row for a device, names with blanks": {
			"1 0 8:2 / /my\\040data ro - xfs /dev/sdb1 ro\n2 0 8:2 /x /x ro - xfs /dev/sdb1 ro\n",
			map[string]string{"etc/fstab": "/dev/sdb1 /my\\040data auto nofail 0 2\n/dev/sdb1 /x xfs defaults 0 0\n"}, []string{`"/my data" ("/dev/sdb1": it is configured to be writable)`},
		},
		"the file system says so itself": {"1 0 8:3 / /stick ro - ext4 /dev/sdc1 ro,emergency_ro\n", nil, []string{`"/stick" ("/dev/sdc1": errors of the file system are recorded)`}},
		"ext4 counted errors": {
			"1 0 8:4 / /old ro - ext4 /dev/sdd1 ro\n", map[string]string{"sys/fs/ext4/8:4/errors_count": "3\n", "sys/dev/block/8:4/size": "1\n"}, []string{`"/old" ("/dev/sdd1": errors of the file system are recorded)`},
		},
		"a user moved one far away": {
			"1 0 8:3 / /home/eve" + strings.Repeat("/"+strings.Repeat(`\040`, 250), 75) + "/a ro - ext4 /dev/sdc1 ro,emergency_ro\n2 0 8:1 / / ro - ext4 /dev/sda1 ro\n",
			map[string]string{"etc/fstab": fstabRoot}, []string{`"/" ("/dev/sda1": it is configured to be writable)`, `"a path that is too long to tell" ("/dev/sdc1": errors of the file system are recorded)`},
		},
		"ext4 counted none": {
			"1 0 8:4 / /old ro - ext4 /dev/sdd1 ro\n", map[string]string{"sys/fs/ext4/8:4/errors_count": "0\n", "sys/dev/block/8:4/size": "1\n"}, nil,
		},
	} {
		files := map[string]string{"proc/self/mountinfo": c.mounts}
		maps.Copy(files, c.files)
		got, err := tree(t, files).readOnly(t.Context())
		if diff := cmp.Diff(health.Reading{Value: float64(len(c.want)), Names: c.want}, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if _, err := tree(t, nil).readOnly(t.Context()); err == nil {
		t.Error("without a table of mounts nothing is read-only")
	}
}

func TestClockIsReadInItsUnit(t *testing.T) {
	for name, c := range map[string]struct {
		timex unix.Timex
		want  clock
	}{
		"microseconds":   {unix.Timex{Offset: -1500}, clock{true, -0.0015}},
		"nanoseconds":    {unix.Timex{Offset: 1500, Status: unix.STA_NANO | unix.STA_PLL}, clock{true, 0.0000015}},
		"unsynchronized": {unix.Timex{Status: unix.STA_UNSYNC}, clock{false, 0}},
	} {
		if got := newClock(c.timex); got.synchronized != c.want.synchronized || got.offset-c.want.offset > 1e-12 || c.want.offset-got.offset > 1e-12 {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The offset of an unsynchronized clock is unknown, not 0.
func TestOffsetIsUnknownWhileNobodyMeasuresIt(t *testing.T) {
	if _, err := tree(t, nil).clockUnsynchronized(t.Context()); err == nil {
		t.Error("a tree of files has a clock")
	}
	live := source{root: "/"}
	loose, err := live.clockUnsynchronized(t.Context())
	testenv.Need(t, err == nil, fmt.Sprintf("adjtimex(2), which a sandbox may forbid: %v", err))
	if _, err := live.clockOffset(t.Context()); (err != nil) != (loose.Value == 1) {
		t.Errorf("unsynchronized %v, and the offset: %v", loose.Value, err)
	}
}

func stat(pid int, state string) string {
	return fmt.Sprintf("%d (x) %s 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 0 100 0\n", pid, state)
}

// What a user keeps from being read may be a time service, or have left more behind.
func TestStuckProcessesAreNotTakenForNone(t *testing.T) {
	for zombies, known := range map[string]bool{"S": false, "Z": true} {
		s := tree(t, map[string]string{"proc/1/stat": stat(1, "S"), "proc/7/stat": stat(7, zombies)})
		testenv.PlantStuck(t, filepath.Join(s.root, "proc/9/stat"))
		if got, err := s.zombies(t.Context()); (err == nil) != known || known && got.More == nil || known && got.Value != 1 {
			t.Errorf("%s: %+v, %v", zombies, got, err)
		}
		if _, unread, err := s.table.Recent(t.Context()); err != nil || unread == nil || !strings.HasSuffix(unread.Error(), ": 1 of "+strconv.Itoa(os.Getuid())) {
			t.Errorf("unread %v, %v", unread, err)
		}
	}
}

func TestZombiesAreCountedWhereAllProcessesAreSeen(t *testing.T) {
	ofParent := func(pid, parent int) string {
		return strings.Replace(stat(pid, "Z"), "Z 0 ", fmt.Sprintf("Z %d ", parent), 1)
	}
	files := map[string]string{
		"proc/1/stat": stat(1, "S"), "proc/7/stat": ofParent(7, 1), "proc/8/stat": ofParent(8, 9), "proc/9/stat": stat(9, "R"), "proc/10/stat": ofParent(10, 9),
		"proc/11/stat": strings.Replace(ofParent(11, 1), " 20 0 1 0 ", " 20 0 2 0 ", 1), // its first thread alone has ended
	}
	if got, err := tree(t, files).zombies(t.Context()); err != nil || got.Value != 3 || strings.Join(got.Names, ", ") != `2 of "x" (PID 9), 1 of "x" (PID 1)` || !slices.Equal(got.PIDs, []int{9, 1}) {
		t.Errorf("%v, %v", got, err)
	}
	delete(files, "proc/1/stat")
	if _, err := tree(t, files).zombies(t.Context()); err == nil || !strings.Contains(err.Error(), "hidden") {
		t.Errorf("others' processes are hidden: %v", err)
	}
}
