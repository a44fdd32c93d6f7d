// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/assets"
	"sentinel/internal/testenv"
)

// An lsblkNode is one device of lsblk -J, with what lies on it.
type lsblkNode struct {
	Path        string      `json:"path"`
	Type        string      `json:"type"`
	FileSystem  *string     `json:"fstype"`
	Mountpoints []*string   `json:"mountpoints"`
	Size        *amount     `json:"fssize"`
	Used        *amount     `json:"fsused"`
	Children    []lsblkNode `json:"children"`
}

// An amount is a number that some releases of lsblk write as text.
type amount uint64

func (a *amount) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*a = amount(n)
	return err
}

// askLsblk returns the mounted devices by mountpoint.
func askLsblk(t *testing.T) map[string]assets.VolumeRow {
	t.Helper()
	return parseLsblk(t, output(t, "lsblk", "-J", "-b", "-o", "NAME,PATH,SIZE,FSTYPE,MOUNTPOINTS,TYPE,FSSIZE,FSUSED,UUID"))
}

// parseLsblk counts as encrypted what is below a crypt device wherever lsblk
// shows it: a device that lies on two others stands in its tree twice.
func parseLsblk(t *testing.T, raw []byte) map[string]assets.VolumeRow {
	t.Helper()
	var all struct {
		Devices []lsblkNode `json:"blockdevices"`
	}
	decode(t, raw, &all)
	byPlace := map[string]assets.VolumeRow{}
	for _, d := range all.Devices {
		d.collect(false, byPlace)
	}
	return byPlace
}

func (d lsblkNode) collect(encrypted bool, into map[string]assets.VolumeRow) {
	encrypted = encrypted || d.Type == "crypt"
	if place := d.place(); place != "" && d.Size != nil && d.Used != nil {
		row := assets.VolumeRow{Device: d.Path, Mountpoint: place, SizeBytes: (*uint64)(d.Size), UsedBytes: (*uint64)(d.Used), Encrypted: &encrypted}
		if d.FileSystem != nil {
			row.FileSystem = *d.FileSystem
		}
		if other, again := into[place]; again && !*other.Encrypted {
			row.Encrypted = other.Encrypted
		}
		into[place] = row
	}
	for _, child := range d.Children {
		child.collect(encrypted, into)
	}
}

// place returns the shortest path at which the device is mounted, "" for none: bind mounts of a
// host, such as those that "ip netns" and containers make, are further places of the same volume.
func (d lsblkNode) place() (shortest string) {
	for _, place := range d.Mountpoints {
		if place != nil && (shortest == "" || len(*place) < len(shortest)) {
			shortest = *place
		}
	}
	return shortest
}

// loopMount makes a file system in a file and mounts it at a place, which need
// not be there yet.
func loopMount(t *testing.T, dir, name, kind string, megabytes int64) string {
	t.Helper()
	image, place := filepath.Join(t.TempDir(), "image"), filepath.Join(dir, name)
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, megabytes<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	output(t, "mkfs."+kind, image)
	output(t, "mount", "-o", "loop", "-t", kind, image, place)
	t.Cleanup(func() {
		if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", place, err)
		}
	})
	return place
}

func needLoops(t *testing.T) {
	t.Helper()
	for tool, debian := range map[string]string{
		"lsblk": "util-linux", "mkfs.ext4": "e2fsprogs", "mkfs.xfs": "xfsprogs", "mkfs.btrfs": "btrfs-progs",
	} {
		needTool(t, tool, debian)
	}
	f, err := os.Open("/dev/loop-control")
	testenv.Need(t, err == nil, fmt.Sprintf("loop devices are not available: %v", err))
	f.Close()
}

func TestVolumesAreThoseOfLsblk(t *testing.T) {
	needLoops(t)
	if !inside(t) {
		return
	}
	dir := t.TempDir()
	for _, place := range []string{
		loopMount(t, dir, "a blank", "ext4", 32), loopMount(t, dir, "large", "xfs", 400), loopMount(t, dir, "tree", "btrfs", 200),
	} {
		if err := os.WriteFile(filepath.Join(place, "data"), make([]byte, 5<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unix.Sync()
	eventually(t, func() string {
		want := askLsblk(t)
		got := map[string]assets.VolumeRow{}
		for _, v := range askAssets(t).Storage.Volumes {
			got[v.Mountpoint] = v
		}
		return cmp.Diff(settledRows(want, askLsblk(t)), comparable(got, want))
	})
}

// settledRows returns what lsblk says when it says the same twice, and nothing
// that equals it otherwise: the root of the machine is in use.
func settledRows(before, after map[string]assets.VolumeRow) map[string]assets.VolumeRow {
	if !cmp.Equal(before, after) {
		return nil
	}
	return before
}

// comparable drops from sentinel's rows what lsblk does not say: whether a
// mount is read-only, the type where lsblk knows none, and the file systems in
// files, of which sentinel does not vouch for what is below.
func comparable(got, want map[string]assets.VolumeRow) map[string]assets.VolumeRow {
	rows := map[string]assets.VolumeRow{}
	for place, row := range got {
		row.ReadOnly = nil
		if want[place].FileSystem == "" {
			row.FileSystem = ""
		}
		if row.Encrypted == nil && strings.HasPrefix(row.Device, "/dev/loop") {
			row.Encrypted = new(false)
		}
		rows[place] = row
	}
	return rows
}

// What a later mount hides is listed by the kernel, and asking for it by its
// path would give the figures of what is on top.
func TestHiddenVolumesAreNotListed(t *testing.T) {
	needLoops(t)
	if !inside(t) {
		return
	}
	dir := t.TempDir()
	outer := loopMount(t, dir, "outer", "ext4", 16)
	loopMount(t, outer, "inner", "ext4", 8)
	loopMount(t, dir, "kept", "ext4", 8)
	if got := placesBelow(t, dir); !cmp.Equal(got, []string{"kept", "outer", "outer/inner"}) {
		t.Fatalf("before anything is hidden: %q", got)
	}
	loopMount(t, dir, "outer", "ext4", 24)
	if got := placesBelow(t, dir); !cmp.Equal(got, []string{"kept", "outer"}) {
		t.Errorf("hidden by a mount at the same place: %q", got)
	}
	output(t, "mount", "-t", "tmpfs", "none", dir)
	got := placesBelow(t, dir)
	output(t, "umount", dir)
	if len(got) != 0 {
		t.Errorf("hidden by a mount above: %q", got)
	}
}

func placesBelow(t *testing.T, dir string) []string {
	t.Helper()
	places := []string{}
	for _, v := range askAssets(t).Storage.Volumes {
		if name, ok := strings.CutPrefix(v.Mountpoint, dir+"/"); ok {
			places = append(places, name)
		}
	}
	return places
}

// A FUSE file system whose daemon never says a word is as dead as an NFS server
// that is gone: statfs(2) does not return.
func TestADeadFileSystemDoesNotHoldUpTheInventory(t *testing.T) {
	if !inside(t) {
		return
	}
	daemon, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	testenv.Need(t, err == nil, fmt.Sprintf("FUSE is not available: %v", err))
	place := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,blksize=4096", daemon)
	needLoops(t)
	if err := os.WriteFile(place+".image", make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := strings.TrimSpace(string(output(t, "losetup", "--find", "--show", place+".image")))
	defer output(t, "losetup", "--detach", device)
	if err := unix.Mount(device, place, "fuseblk", 0, options); err != nil {
		t.Fatalf("mount: %v", err)
	}
	var doc assets.Result
	askSentinel(t, &doc, "--asset-info", "--json", "--limit", "all")
	found := false
	for _, v := range doc.Asset.Storage.Volumes {
		found = found || v.Mountpoint == place && v.SizeBytes == nil
	}
	raw, err := json.Marshal(doc.Unavailable)
	if err != nil {
		t.Fatal(err)
	}
	if !found || !strings.Contains(string(raw), "did not answer in time") {
		t.Errorf("volumes %+v, unavailable %s", doc.Asset.Storage.Volumes, raw)
	}
	// Without its daemon the mount answers with an error, and can go.
	unix.Close(daemon)
	if err := unix.Unmount(place, unix.MNT_DETACH); err != nil {
		t.Error(err)
	}
}
