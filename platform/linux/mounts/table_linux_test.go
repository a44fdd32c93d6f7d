// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// mounted makes a file system at a path, for the length of the test.
func mounted(t *testing.T, source, path, kind string, flags uintptr, options string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, path, kind, flags, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
}

// eve mounts a file system of a process, as fusermount3(1) does for a user, and a number of them more that show
// the same, in a directory of theirs, which they move below a number of others with names of 250 blanks.
func eve(t *testing.T, more, levels int) (home string) {
	t.Helper()
	testenv.RequireIsolated(t)
	home = filepath.Join(t.TempDir(), "eve")
	mounted(t, "home", home, "tmpfs", 0, "")
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	testenv.Need(t, err == nil, "/dev/fuse")
	t.Cleanup(func() { unix.Close(fd) })
	first := home + "/a/mnt"
	mounted(t, "dead", first, "fuse.x", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=54321,group_id=54321", fd))
	for i := range more {
		mounted(t, first, fmt.Sprintf("%s/a/more%d", home, i), "", unix.MS_BIND, "")
	}
	at, err := unix.Open(home, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	top := at
	for range levels {
		name := strings.Repeat(" ", 250)
		if err := unix.Mkdirat(at, name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if at != top {
			unix.Close(at)
		}
		at = below
	}
	if err := unix.Renameat(top, "a", at, "a"); err != nil {
		t.Fatal(err)
	}
	unix.Close(at)
	unix.Close(top)
	return home
}

// later is a mount that came after those of the user.
func later(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "later on")
	mounted(t, "later source", dir, "tmpfs", unix.MS_NOEXEC|unix.MS_RDONLY, "")
	return dir
}

func at(table []*mountinfo.Info, point string) *mountinfo.Info {
	i := slices.IndexFunc(table, func(m *mountinfo.Info) bool { return m.Mountpoint == point })
	if i < 0 {
		return &mountinfo.Info{}
	}
	return table[i]
}

// One user moves what they have mounted, and the machine's mounts are told all the same.
func TestAUserMovesAMountFarAway(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	home, dir := eve(t, 0, 80), later(t)
	table, err := New("/").Table()
	if err != nil {
		t.Fatal(err)
	}
	if m := at(table, dir); m.Source != "later source" || m.FSType != "tmpfs" || !HasOption(m.Options, "noexec") || at(table, home).Source != "home" {
		t.Errorf("%+v", m)
	}
	if m := at(table, ""); m.FSType != "fuse.x" || Mounter(m) != 54321 || m.Source != "dead" || !ofUser(m) {
		t.Errorf("%+v", m)
	}
}

// Where the text of what users have mounted is more than is read, the kernel is asked for the others one by one.
func TestAUserMovesManyMountsFarAway(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	const more = 40
	_, dir := eve(t, more, maxRead/more/len(strings.Repeat(`\040`, 250))), later(t)
	_, err := statMounts(nil)
	testenv.Need(t, err == nil, "a kernel that tells single mounts with their sources (Linux 6.13)")
	table, err := New("/").Table()
	if err != nil {
		t.Fatal(err)
	}
	if m := at(table, dir); m.Source != "later source" || m.FSType != "tmpfs" || !HasOption(m.Options, "noexec") || !HasOption(m.Options, "ro") || m.Root != "/" {
		t.Errorf("%+v", m)
	}
	far := slices.DeleteFunc(slices.Clone(table), func(m *mountinfo.Info) bool { return m.FSType != "fuse.x" })
	if len(far) != more+1 || slices.ContainsFunc(far, func(m *mountinfo.Info) bool { return m.Mountpoint != "" || !ofUser(m) }) {
		t.Errorf("%d mounts of the user", len(far))
	}
	system, err := New("/").TableOf(procfs.New("/"), initProcess)
	if err != nil || len(system) != len(table) {
		t.Errorf("%d mounts of the first process, %v, and %d of this one", len(system), err, len(table))
	}
}

// What the kernel tells of single mounts is what its table has.
func TestSingleMountsAreThoseOfTheTable(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	eve(t, 1, 20)
	later(t)
	single, err := statMounts(nil)
	testenv.Need(t, err == nil, "a kernel that tells single mounts with their sources (Linux 6.13)")
	table, err := New("/").Table()
	if err != nil || len(single) != len(table) || len(table) < 4 {
		t.Fatalf("%d and %d mounts, %v", len(single), len(table), err)
	}
	for i, m := range table {
		s := single[i]
		if s.ID != m.ID || s.Parent != m.Parent || DeviceOf(s) != DeviceOf(m) || s.FSType != m.FSType || s.Source != m.Source || Mounter(s) != Mounter(m) {
			t.Errorf("%+v, and in the table %+v", s, m)
		}
		if !ofUser(m) && (s.Root != m.Root || s.Mountpoint != m.Mountpoint || s.VFSOptions != m.VFSOptions) {
			t.Errorf("%+v, and in the table %+v", s, m)
		}
		for _, option := range []string{"ro", "rw", "nosuid", "nodev", "noexec"} {
			if HasOption(s.Options, option) != HasOption(m.Options, option) {
				t.Errorf("%s: %+v, and in the table %+v", option, s, m)
			}
		}
	}
}
