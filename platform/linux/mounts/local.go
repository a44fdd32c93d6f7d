// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/platform/unix/hostfile"
)

// maxMountinfo caps the mount table, in bytes: some 50,000 mounts.
const maxMountinfo = 8 << 20

// DefaultLimit is how long one file system may take to say how full it is.
const DefaultLimit = time.Second

// ErrNotLive reports that a tree of files was asked what only a running system
// knows.
var ErrNotLive = errors.New("only a running system knows how full it is")

// A Mount is one mounted local file system.
type Mount struct {
	Source     string // device as it was mounted, or the pool: "/dev/nvme0n1p2", "rpool/home"
	Mountpoint string // as the kernel has it; may hold any byte but NUL
	Type       string // "ext4"
	Device     Device
	ReadOnly   bool
}

// An FS is the mounts that this process sees.
type FS struct {
	root   string
	limit  time.Duration
	statfs func(path string) (Usage, error)
}

// New returns the mounts of the system whose /proc and /sys are below root; root
// is "/" on a live system. Of any other, the mounts are elsewhere or nowhere, and
// their usage is [ErrNotLive].
func New(root string) *FS {
	ask := statfs
	if root != "/" {
		ask = func(string) (Usage, error) { return Usage{}, ErrNotLive }
	}
	return &FS{root: root, limit: DefaultLimit, statfs: ask}
}

// WithStatfs returns a copy of fs that calls ask instead of statfs(2), for trees
// that are no live system.
func (fs *FS) WithStatfs(ask func(mountpoint string) (Usage, error)) *FS {
	other := *fs
	other.statfs = ask
	return &other
}

// Local returns the local file systems that hold data, one row for each device:
// those on a block device, zfs and bcachefs, and whatever the root is on. Network and
// memory file systems, read-only images (squashfs of snaps, CD-ROMs), second mounts of
// a device and mounts that others hide are left out. The root comes first, then the shallow
// paths before the deep.
func (fs *FS) Local() ([]Mount, error) {
	raw, err := hostfile.Read(fs.path("proc/self/mountinfo"), maxMountinfo)
	if err != nil {
		return nil, err
	}
	entries, err := parseMountinfo(raw)
	if err != nil {
		return nil, err
	}
	return fs.named(local(entries)), nil
}

func (fs *FS) path(name string) string { return filepath.Join(fs.root, name) }

func local(entries []entry) []entry {
	t := newTree(entries)
	kept := make([]entry, 0, 16)
	for i := range entries {
		if e := &entries[i]; holdsData(e) && t.visible(e) {
			kept = append(kept, *e)
		}
	}
	slices.SortStableFunc(kept, byImportance)
	kept = oneEach(kept)
	slices.SortStableFunc(kept, byPath)
	return kept
}

// oneEach keeps the first mount of each device. It counts as read-only when
// none of the others lets anyone write either.
func oneEach(list []entry) []entry {
	at := make(map[Device]int, len(list))
	kept := list[:0]
	for _, e := range list {
		i, again := at[e.device]
		if !again {
			at[e.device] = len(kept)
			kept = append(kept, e)
			continue
		}
		kept[i].readOnly = kept[i].readOnly && e.readOnly
	}
	return kept
}

// holdsData tells file systems that can fill up from the kernel's own, from
// images that are full by nature, and from the files that a container runtime
// binds into place (/etc/hosts and its like).
func holdsData(e *entry) bool {
	if e.mountpoint == "/" {
		return true
	}
	switch e.fstype {
	case "squashfs", "erofs", "cramfs", "romfs", "iso9660":
		return false
	case "btrfs", "zfs", "bcachefs":
		return true
	}
	return e.device.Major != 0 && (e.root == "/" || !isPseudoMount(e.mountpoint))
}

func isPseudoMount(mountpoint string) bool {
	for _, dir := range [...]string{"/etc/", "/dev/", "/proc/", "/sys/", "/run/", "/usr/", "/var/run/"} {
		if strings.HasPrefix(mountpoint+"/", dir) {
			return true
		}
	}
	return false
}

// byImportance puts the mount that stands for its device first: the root
// directory, a mount of the whole file system rather than of a directory in it, the shortest
// path.
func byImportance(a, b entry) int {
	return cmp.Or(
		first(a.mountpoint == "/", b.mountpoint == "/"),
		first(a.root == "/", b.root == "/"),
		cmp.Compare(len(a.mountpoint), len(b.mountpoint)),
		cmp.Compare(a.mountpoint, b.mountpoint),
	)
}

func byPath(a, b entry) int {
	return cmp.Or(
		first(a.mountpoint == "/", b.mountpoint == "/"),
		cmp.Compare(strings.Count(a.mountpoint, "/"), strings.Count(b.mountpoint, "/")),
		cmp.Compare(a.mountpoint, b.mountpoint),
	)
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// named turns entries into mounts. The kernel calls the device it booted from
// /dev/root where nothing renamed it; sysfs knows its name.
func (fs *FS) named(entries []entry) []Mount {
	list := make([]Mount, 0, len(entries))
	for _, e := range entries {
		m := Mount{Source: e.source, Mountpoint: e.mountpoint, Type: e.fstype, Device: e.device, ReadOnly: e.readOnly}
		if name := fs.deviceName(e); name != "" {
			m.Source = name
		}
		list = append(list, m)
	}
	return list
}

func (fs *FS) deviceName(e entry) string {
	plain := strings.HasPrefix(e.source, "/dev/") && e.source != "/dev/root" && !strings.HasPrefix(e.source, "/dev/disk/")
	if e.device.Major == 0 || plain {
		return ""
	}
	raw, err := hostfile.Read(fs.path("sys/dev/block/"+e.device.String()+"/uevent"), 4096)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVNAME="); ok {
			return "/dev/" + name
		}
	}
	return ""
}
