// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/platform/unix/hostfile"
)

// points returns what of a mount table is kept, as "mountpoint device".
func points(t *testing.T, table string) []string {
	t.Helper()
	list, err := parseTable([]byte(strings.TrimPrefix(table, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, m := range local(list) {
		got = append(got, m.Mountpoint+" "+m.Device.String())
	}
	return got
}

func TestOnlyFileSystemsThatHoldDataAreListed(t *testing.T) {
	for _, c := range []struct {
		name, table string
		want        []string
	}{
		{"a laptop", `
22 27 0:21 / /proc rw - proc proc rw
23 27 0:22 / /sys rw - sysfs sysfs rw
27 1 253:0 / / rw - ext4 /dev/mapper/root rw
30 27 0:26 / /run rw - tmpfs tmpfs rw
31 27 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro
32 27 0:40 / /mnt/nas rw - nfs4 nas:/ rw
33 37 259:1 / /boot/efi rw - vfat /dev/nvme0n1p1 rw
34 27 0:41 / /home/a/remote rw - fuse.sshfs b: rw
35 27 8:17 / /media/stick rw - fuseblk /dev/sdb1 rw
36 27 11:0 / /media/cd ro - iso9660 /dev/sr0 ro
37 27 259:2 / /boot rw - ext4 /dev/nvme0n1p2 rw
`, []string{"/ 253:0", "/boot 259:2", "/boot/efi 259:1", "/media/stick 8:17"}},
		{"second mounts of a device", `
27 1 8:1 / / rw - ext4 /dev/sda1 rw
28 27 8:1 /srv /export rw - ext4 /dev/sda1 rw
29 27 8:2 /x /a rw - ext4 /dev/sda2 rw
30 27 8:2 / /longer rw - ext4 /dev/sda2 rw
31 27 8:2 / /longer/still rw - ext4 /dev/sda2 rw
`, []string{"/ 8:1", "/longer 8:2"}},
		{"btrfs subvolumes share a number", `
27 1 0:30 /@ / rw - btrfs /dev/sda2 rw
28 27 0:30 /@home /home rw - btrfs /dev/sda2 rw
29 27 0:31 / /data rw - btrfs /dev/sdb rw
`, []string{"/ 0:30", "/data 0:31"}},
		{"zfs data sets", `
27 1 0:30 / / rw - zfs rpool/root rw
28 27 0:31 / /home rw - zfs rpool/home rw
`, []string{"/ 0:30", "/home 0:31"}},
		{"a container", `
27 1 0:50 / / rw - overlay overlay rw,lowerdir=/a
28 27 254:1 /var/lib/docker/containers/0/hosts /etc/hosts rw - ext4 /dev/vda1 rw
29 27 254:1 /var/lib/docker/containers/0/resolv.conf /etc/resolv.conf rw - ext4 /dev/vda1 rw
30 27 254:17 /volumes/data /data rw - ext4 /dev/vdb1 rw
`, []string{"/ 0:50", "/data 254:17"}},
		{"an image-based system", `
27 1 0:50 / / ro - overlay composefs ro
28 27 8:3 / /sysroot ro - xfs /dev/sda3 rw
29 27 8:3 /ostree/deploy/x/etc /etc rw - xfs /dev/sda3 rw
30 27 8:3 /ostree/deploy/x/var /var rw - xfs /dev/sda3 rw
`, []string{"/ 0:50", "/sysroot 8:3"}},
		{"moved far away, alone and beside others", `
27 1 8:1 / / rw - ext4 /dev/sda1 rw
28 27 8:2 / ` + farPath(75) + ` rw - ext4 /dev/sdb1 rw
29 27 8:2 /x /srv/x rw - ext4 /dev/sdb1 rw
30 27 8:3 / ` + farPath(75) + ` rw - ext4 /dev/sdc1 rw
31 30 8:4 / ` + farPath(76) + ` rw - ext4 /dev/sdd1 rw
32 27 0:50 / ` + farPath(75) + users, []string{"/ 8:1", "/srv/x 8:2", " 8:3", " 8:4"}},
		{"root on NFS", "27 1 0:50 / / rw - nfs4 nas:/root rw\n", []string{"/ 0:50"}},
		{"nothing", "", []string{}},
	} {
		if diff := cmp.Diff(c.want, points(t, c.table)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestADeviceIsWritableWhenOneOfItsMountsIs(t *testing.T) {
	for table, want := range map[string]bool{
		"27 1 8:1 / /a ro - ext4 x rw\n28 1 8:1 /b /b rw - ext4 x rw\n": false,
		"27 1 8:1 / /a rw - ext4 x rw\n28 1 8:1 /b /b ro - ext4 x rw\n": false,
		"27 1 8:1 / /a ro - ext4 x rw\n28 1 8:1 /b /b rw - ext4 x ro\n": true,
	} {
		list, err := parseTable([]byte(table))
		if err != nil {
			t.Fatal(err)
		}
		if got := local(list); len(got) != 1 || got[0].Mountpoint != "/a" || got[0].ReadOnly != want {
			t.Errorf("%q: %+v, want read-only %v", table, got, want)
		}
	}
}

// Asking a hidden mount by its path would give the figures of the one on top.
func TestHiddenMountsAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		name, table string
		want        []string
	}{
		{"the same place twice", `
27 1 8:1 / / rw - ext4 a rw
28 27 8:2 / /mnt rw - ext4 b rw
29 28 8:3 / /mnt rw - ext4 c rw
`, []string{"/ 8:1", "/mnt 8:3"}},
		{"a folder above it", `
27 1 8:1 / / rw - ext4 a rw
28 27 8:2 / /mnt/deep rw - ext4 b rw
29 27 0:9 / /mnt rw - tmpfs c rw
`, []string{"/ 8:1"}},
		{"mounted again on what hides", `
27 1 8:1 / / rw - ext4 a rw
28 27 8:2 / /mnt rw - ext4 b rw
29 28 8:3 / /mnt rw - ext4 c rw
30 28 8:4 / /mnt/old rw - ext4 d rw
31 29 8:5 / /mnt/new rw - ext4 e rw
`, []string{"/ 8:1", "/mnt 8:3", "/mnt/new 8:5"}},
		{"below something hidden", `
27 1 8:1 / / rw - ext4 a rw
28 27 8:2 / /mnt/x rw - ext4 b rw
29 28 8:3 / /mnt/x/y rw - ext4 c rw
30 27 0:9 / /mnt rw - tmpfs d rw
`, []string{"/ 8:1"}},
		{"a root over the first root", `
1 1 0:1 / / rw - rootfs rootfs rw
27 1 8:1 / / rw - ext4 a rw
28 27 8:2 / /home rw - ext4 b rw
`, []string{"/ 8:1", "/home 8:2"}},
		{"a changed root without an entry of its own", `
28 900 8:2 / /home rw - ext4 b rw
29 28 8:3 / /home/a rw - ext4 c rw
`, []string{"/home 8:2", "/home/a 8:3"}},
		{"a cycle, which the kernel never makes", `
28 29 8:2 / /home rw - ext4 b rw
29 28 8:3 / /home rw - ext4 c rw
`, []string{}},
	} {
		if diff := cmp.Diff(c.want, points(t, c.table)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestDevicesAreNamedAsTheKernelNamesThem(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/self/mountinfo", `27 1 8:2 / / rw - ext4 /dev/root rw
28 27 8:3 / /a rw - ext4 /dev/disk/by-uuid/0 ro
29 27 8:4 / /b rw - ext4 /dev/mapper/vg-b rw
30 27 8:9 / /c rw - ext4 /dev/root rw
`)
	write(t, root, "sys/dev/block/8:2/uevent", "MAJOR=8\nMINOR=2\nDEVNAME=sda2\nDEVTYPE=partition\n")
	write(t, root, "sys/dev/block/8:3/uevent", "DEVNAME=sda3\n")
	write(t, root, "sys/dev/block/8:4/uevent", "DEVNAME=dm-4\n")
	got, err := New(root).Local()
	want := []Mount{
		{Source: "/dev/sda2", Mountpoint: "/", Type: "ext4", Device: Device{8, 2}},
		{Source: "/dev/sda3", Mountpoint: "/a", Type: "ext4", Device: Device{8, 3}, ReadOnly: true},
		{Source: "/dev/mapper/vg-b", Mountpoint: "/b", Type: "ext4", Device: Device{8, 4}},
		{Source: "/dev/root", Mountpoint: "/c", Type: "ext4", Device: Device{8, 9}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := New(t.TempDir()).Local(); !hostfile.Missing(err) {
		t.Errorf("no mount table: %v", err)
	}
}

func TestUsageGivesUpOnADeadFileSystem(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	fs := New("/").WithStatfs(func(string) (Usage, error) { <-hang; return Usage{}, nil })
	fs.limit = time.Millisecond
	if _, err := fs.Usage(t.Context(), "/dead"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want deadline exceeded", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	fs = New("/").WithStatfs(func(string) (Usage, error) { cancel(); <-hang; return Usage{}, nil })
	fs.limit = time.Hour
	for _, when := range []string{"while it waits", "before it asks"} {
		if _, err := fs.Usage(ctx, "/dead"); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled %s: %v", when, err)
		}
	}
}

// No path leads to some mounts, and another one would tell of something else.
func TestTheUsageOfWhatIsFarAwayIsUnknown(t *testing.T) {
	fs := New("/").WithStatfs(func(string) (Usage, error) { return Usage{Size: 1}, nil })
	if got, err := fs.Usage(t.Context(), ""); !errors.Is(err, ErrFar) || got != (Usage{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestUsagePassesOnWhatTheFileSystemSays(t *testing.T) {
	boom := errors.New("boom")
	want := Usage{Size: 10, Used: 4, Available: 5, Inodes: 3, InodesUsed: 1}
	fs := New("/").WithStatfs(func(p string) (Usage, error) {
		if p == "/a" {
			return want, nil
		}
		return Usage{}, boom
	})
	if got, err := fs.Usage(t.Context(), "/a"); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := fs.Usage(t.Context(), "/b"); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
