// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fuse

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/linux/procfs"
)

// The server of a file system that does not even answer is found without asking it.
func TestServersOfMountsAreFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	self := os.Getpid()
	servers := func() map[int][]Mount {
		t.Helper()
		found, err := New("/", procfs.New("/")).servers(t.Context(), func(int) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := servers(); len(found) != 0 {
		t.Errorf("without a mount: %v", found)
	}
	first, second := deadfuse.New(t, 0), deadfuse.New(t, 1000)
	want := map[int][]Mount{self: {{first.Dir, "fuse", 0}, {second.Dir, "fuse", 1000}}}
	if diff := cmp.Diff(want, servers()); diff != "" {
		t.Error(diff)
	}
	group, err := procfs.New("/").ControlGroup(self)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := New("/", procfs.New("/")).ByGroup(t.Context()); err != nil || !slices.Equal(found[group], []string{first.Dir}) {
		t.Errorf("by control group: %v, %v", found, err)
	}
	unix.Unmount(second.Dir, unix.MNT_FORCE|unix.MNT_DETACH)
	if diff := cmp.Diff(map[int][]Mount{self: {{first.Dir, "fuse", 0}}}, servers()); diff != "" {
		t.Errorf("after an unmount: %s", diff)
	}
}

// Anybody may name the device in a descriptor with O_PATH, which is an end of no connection.
func TestWhoOnlyNamesTheDeviceServesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.New(t, 0)
	fd, err := unix.Open(Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "named")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	found, err := New("/", procfs.New("/")).servers(t.Context(), func(int) bool { return true })
	if served := found[cmd.Process.Pid]; err != nil || len(found) != 1 || served != nil {
		t.Errorf("%v by it, %d servers, %v", served, len(found), err)
	}
	devices := map[int]int{}
	_, err = procfs.New("/").OpenFiles(t.Context(), nil, func(f procfs.OpenFile) bool {
		if _, is := Device(f); is {
			devices[f.PID]++
		}
		return true
	})
	if want := map[int]int{os.Getpid(): 1}; err != nil || !maps.Equal(devices, want) {
		t.Errorf("%v have the device open, want %v: %v", devices, want, err)
	}
}

// A user holds the directory of a process of root's that may serve a file system. Its mounts are read all the same.
func TestAProcessThatAUserHoldsIsLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	if err := unix.Mount("none", "/run", "tmpfs", 0, ""); err != nil { // where it is noted
		t.Fatal(err)
	}
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	c := exec.Command(testenv.Program(t, "sleep", "coreutils"), "60")
	c.ExtraFiles = []*os.File{device}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	mount := deadfuse.New(t, 0)
	deadfuse.Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(c.Process.Pid)))
	proc := procfs.New("/")
	group, err := proc.ControlGroup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// It serves what root has mounted for all that its device tells, beside the one that does.
	if found, err := New("/", proc).ByGroup(t.Context()); err != nil || !slices.Equal(found[group], []string{mount.Dir, mount.Dir}) || !proc.Apart(c.Process.Pid) {
		t.Errorf("%v, %v", found, err)
	}
}

// A process that stops answering once its files were read has no mounts that are known.
func TestAProcessWhoseMountsAreKeptFromBeingRead(t *testing.T) {
	for uid, refused := range map[string]bool{"1000": false, "33": true} {
		root := testenv.Plant(t, map[string]string{
			"proc/9/fd/": "", "proc/9/fdinfo/3": "fuse_connection:\t58\n", "proc/self/mountinfo": "65 1 254:0 / / rw - ext4 /dev/vda rw\n",
			"proc/9/status": strings.ReplaceAll("Uid:\tX\tX\tX\tX\n", "X", uid),
		})
		testenv.PlantStuck(t, filepath.Join(root, "proc/9/mountinfo"))
		if err := os.Symlink("/dev/fuse", filepath.Join(root, "proc/9/fd/3")); err != nil {
			t.Fatal(err)
		}
		_, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return true })
		if errors.Is(err, procfs.ErrStuck) != refused {
			t.Errorf("of user %s: %v", uid, err)
		}
	}
}

// Ordinary users can make it take too long to look at what they have open.
func TestWhatUsersHideIsNoReasonToRefuse(t *testing.T) {
	for why, system := range map[error]bool{procfs.ErrManyFiles: false, procfs.ErrFilesTime: true} { // each account has a number of files of its own
		if err := unread([]procfs.Skipped{{PID: 7, UID: 1000, Err: why}}); err != nil {
			t.Errorf("%v", err)
		}
		if err := unread([]procfs.Skipped{{PID: 7, UID: 1000, Err: why}, {PID: 8, UID: 101, Err: why}}); errors.Is(err, why) != system {
			t.Errorf("of the system: %v", err)
		}
	}
}

// A kernel that does not tell the connection leaves the mounts of the process's user.
func TestOlderKernels(t *testing.T) {
	const mounts = "65 1 254:0 / / rw - ext4 /dev/vda rw\n128 65 0:58 / /mnt/a rw - fuse.sshfs x rw,user_id=1000,group_id=0\n129 65 0:59 / /mnt/b rw - fuseblk /dev/vdb rw,user_id=0\n130 65 0:60 / /sys/fs/fuse/connections rw - fusectl x rw\n"
	ofUser, ofRoot := []Mount{{"/mnt/a", "fuse.sshfs", 1000}}, []Mount{{"/mnt/b", "fuseblk", 0}}
	for _, c := range []struct {
		about string
		uid   string
		want  []Mount
	}{
		{"pos:\t0\n", "0", ofRoot}, {"pos:\t0\n", "1000", ofUser}, {"pos:\t0\n", "1001", nil}, {"fuse_connection:\tx\n", "1000", ofUser},
		{"fuse_connection:\t59\n", "1001", ofRoot}, {"fuse_connection:\t77\n", "0", nil},
	} {
		root := testenv.Plant(t, map[string]string{
			"proc/9/fd/": "", "proc/9/fdinfo/3": c.about, "proc/9/mountinfo": mounts, "proc/self/mountinfo": mounts,
			"proc/9/status": strings.ReplaceAll("Uid:\tX\tX\tX\tX\n", "X", c.uid),
		})
		if err := os.Symlink("/dev/fuse", filepath.Join(root, "proc/9/fd/3")); err != nil {
			t.Fatal(err)
		}
		found, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return true })
		if diff := cmp.Diff(c.want, found[9]); diff != "" || err != nil {
			t.Errorf("%q of user %s: %v %s", c.about, c.uid, err, diff)
		}
	}
}

// A file system of a disk has the disk's number (fuseblk), of which a user's own may have the minor part.
func TestAFileSystemOfADiskIsServedByItsOwnServer(t *testing.T) {
	const user, disk = "70 65 0:49 / /home/eve/mnt rw,nosuid,nodev - fuse.x x rw,user_id=1000\n", "71 65 8:49 / /mnt/usb rw - fuseblk /dev/sdd1 rw,user_id=0\n"
	root := testenv.Plant(t, map[string]string{
		"proc/8/fd/": "", "proc/8/fdinfo/3": "fuse_connection:\t8388657\n", "proc/8/status": "Uid:\t0\t0\t0\t0\n",
		"proc/9/fd/": "", "proc/9/fdinfo/3": "fuse_connection:\t49\n", "proc/9/status": "Uid:\t1000\t1000\t1000\t1000\n",
		"proc/self/mountinfo": user + disk,
	})
	for _, pid := range []string{"8", "9"} {
		if err := os.Symlink("/dev/fuse", filepath.Join(root, "proc", pid, "fd/3")); err != nil {
			t.Fatal(err)
		}
	}
	found, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return true })
	want := map[int][]Mount{8: {{"/mnt/usb", "fuseblk", 0}}, 9: {{"/home/eve/mnt", "fuse.x", 1000}}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// What is mounted where a process is alone may be numbered as its namespace likes.
func TestAMountOfAnotherNamespaceIsItsUsers(t *testing.T) {
	const here = "65 1 254:0 / / rw - ext4 /dev/vda rw\n"
	for uid, want := range map[string]int{"1000": 1000, "0": 0} {
		root := testenv.Plant(t, map[string]string{
			"proc/9/fd/": "", "proc/9/fdinfo/3": "fuse_connection:\t58\n", "proc/self/mountinfo": here,
			"proc/9/mountinfo": here + "128 65 0:58 / /mnt/a rw - fuse x rw,user_id=0,group_id=0\n",
			"proc/9/status":    strings.ReplaceAll("Uid:\tX\tX\tX\tX\n", "X", uid),
		})
		if err := os.Symlink("/dev/fuse", filepath.Join(root, "proc/9/fd/3")); err != nil {
			t.Fatal(err)
		}
		found, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return true })
		if diff := cmp.Diff([]Mount{{"/mnt/a", "fuse", want}}, found[9]); diff != "" || err != nil {
			t.Errorf("of user %s: %v %s", uid, err, diff)
		}
	}
}

// In a namespace of one's own a file system can be mounted very often.
func TestAFileSystemThatIsMountedVeryOften(t *testing.T) {
	testenv.HangGuard(t)
	const here = "65 1 254:0 / / rw - ext4 /dev/vda rw\n70 65 0:57 / /mnt/root rw - fuse x rw,user_id=0,group_id=0\n"
	var there strings.Builder
	for n := range 80_000 {
		fmt.Fprintf(&there, "%d 65 0:58 / /mnt/%d rw - fuse x rw,user_id=0,group_id=0\n", 128+n, n)
	}
	root := testenv.Plant(t, map[string]string{
		"proc/9/fd/": "", "proc/9/fdinfo/3": "fuse_connection:\t58\n", "proc/9/fdinfo/4": "fuse_connection:\t57\n", "proc/self/mountinfo": here,
		"proc/9/mountinfo": there.String(), "proc/9/status": strings.ReplaceAll("Uid:\tX\tX\tX\tX\n", "X", "1000"),
	})
	for _, fd := range []string{"3", "4"} {
		if err := os.Symlink("/dev/fuse", filepath.Join(root, "proc/9/fd", fd)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return true })
	if err != nil || len(found[9]) != maxThere+1 || found[9][0] != (Mount{"/mnt/root", "fuse", 0}) || found[9][1] != (Mount{"/mnt/0", "fuse", 1000}) {
		t.Errorf("%d mounts, %v", len(found[9]), err)
	}
	others, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return false })
	if err != nil || len(others[9]) != 1 {
		t.Errorf("without its namespace: %d mounts, %v", len(others[9]), err)
	}
}

// A user moves what they have mounted far away; it is theirs, and what root has mounted stays protected.
func TestAMountThatAUserMovesFarAway(t *testing.T) {
	far := "128 65 0:58 / /home/eve" + strings.Repeat("/"+strings.Repeat(`\040`, 250), 75) + "/a/mnt rw,nosuid,nodev - fuse.x x rw,user_id=1000\n"
	root := testenv.Plant(t, map[string]string{
		"proc/9/fd/": "", "proc/9/fdinfo/3": "fuse_connection:\t58\n", "proc/9/fdinfo/4": "fuse_connection:\t57\n", "proc/9/status": "Uid:\t0\t0\t0\t0\n",
		"proc/self/mountinfo": far + "70 65 0:57 / /mnt/root rw - fuse x rw,user_id=0,group_id=0\n",
	})
	for _, fd := range []string{"3", "4"} {
		if err := os.Symlink("/dev/fuse", filepath.Join(root, "proc/9/fd", fd)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := New(root, procfs.New(root)).servers(t.Context(), func(int) bool { return true })
	want := []Mount{{"a path that is too long to tell", "fuse.x", 1000}, {"/mnt/root", "fuse", 0}}
	if diff := cmp.Diff(want, found[9]); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
