// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/answer"
	"sentinel/platform/unix/hostfile"
)

// DefaultLimit is how long one file system may take to report its usage.
const DefaultLimit = time.Second

// ErrNotLive reports a question that only a running system can answer.
var ErrNotLive = errors.New("only a running system knows how full it is")

// ErrFar reports a question that is asked by the path of a mount which has none of at most MaxPath.
var ErrFar = errors.New("the path that it is mounted at is longer than a system call takes")

// A Mount is one mounted local file system.
type Mount struct {
	Source     string // device as it was mounted, or the pool: "/dev/nvme0n1p2", "rpool/home"
	Mountpoint string // as the kernel has it; may contain any byte but NUL; "" where it is longer than MaxPath
	Type       string // "ext4"
	Device     Device
	ReadOnly   bool
}

// An FS reads the mounts that this process sees.
type FS struct {
	root   string
	limit  time.Duration
	statfs func(path string) (Usage, error)
}

// New returns the mounts of the system whose /proc and /sys are below root, "/" on a live system.
// The mounts of any other tree cannot be reached, and their usage is [ErrNotLive].
func New(root string) *FS {
	ask := statfs
	if root != "/" {
		ask = func(string) (Usage, error) { return Usage{}, ErrNotLive }
	}
	return &FS{root: root, limit: DefaultLimit, statfs: ask}
}

// WithStatfs returns a copy of fs that calls ask instead of statfs(2), for trees that are not a
// live system.
func (fs *FS) WithStatfs(ask func(mountpoint string) (Usage, error)) *FS {
	other := *fs
	other.statfs = ask
	return &other
}

// Local returns the local file systems that hold data, one row for each device: those on a block
// device, zfs and bcachefs, and the file system of the root. Network and memory file systems,
// read-only images (squashfs of snaps, CD-ROMs), further mounts of a device and mounts that are
// hidden by others are left out. The root comes first, then shallow paths before deep ones; what has no path that
// anybody could use comes last, and its usage is [ErrFar].
func (fs *FS) Local() ([]Mount, error) { return fs.list() }

// memoryDirs are where a file system in memory stops the work of others once it is full. Every user can write to all
// of them but /run.
var memoryDirs = []string{"/tmp", "/var/tmp", "/run", "/run/lock", "/dev/shm"}

// Fillable returns what [FS.Local] does, and the tmpfs that are mounted at memoryDirs.
func (fs *FS) Fillable() ([]Mount, error) { return fs.list(memoryDirs...) }

// InMemory reports whether a mount is one that Local leaves out.
func (m Mount) InMemory() bool { return m.Type == "tmpfs" && m.Mountpoint != "/" }

func (fs *FS) list(inMemory ...string) ([]Mount, error) {
	table, err := fs.Table()
	if err != nil {
		return nil, err
	}
	list := local(table, inMemory...)
	for i := range list {
		list[i].Source = fs.sourceOf(list[i])
	}
	return list, nil
}

func (fs *FS) path(name string) string { return filepath.Join(fs.root, name) }

func local(table []*mountinfo.Info, inMemory ...string) []Mount {
	t := newTree(table)
	kept := make([]*mountinfo.Info, 0, 16)
	for _, m := range table {
		holds := holdsData(m) || m.FSType == "tmpfs" && slices.Contains(inMemory, m.Mountpoint)
		if holds && (m.Mountpoint == "" || t.visible(m)) {
			kept = append(kept, m)
		}
	}
	slices.SortStableFunc(kept, byImportance)
	list := oneEach(kept)
	slices.SortStableFunc(list, byPath)
	return list
}

// oneEach keeps the first mount of each device. It counts as read-only when all
// mounts of the device are.
func oneEach(table []*mountinfo.Info) []Mount {
	at := make(map[Device]int, len(table))
	list := make([]Mount, 0, len(table))
	for _, m := range table {
		device, readOnly := DeviceOf(m), HasOption(m.Options, "ro") || HasOption(m.VFSOptions, "ro")
		if i, again := at[device]; again {
			list[i].ReadOnly = list[i].ReadOnly && readOnly
			continue
		}
		at[device] = len(list)
		list = append(list, Mount{Source: m.Source, Mountpoint: m.Mountpoint, Type: m.FSType, Device: device, ReadOnly: readOnly})
	}
	return list
}

// holdsData distinguishes file systems that can fill up from the kernel's own, from images, which
// are always full, and from files that a container runtime bind-mounts (/etc/hosts and the like).
func holdsData(m *mountinfo.Info) bool {
	if m.Mountpoint == "/" {
		return true
	}
	switch m.FSType {
	case "squashfs", "erofs", "cramfs", "romfs", "iso9660":
		return false
	case "btrfs", "zfs", "bcachefs":
		return true
	}
	return m.Major != 0 && (m.Root == "/" || !isPseudoMount(m.Mountpoint))
}

// isPseudoMount reports whether a mount of part of a file system is at a path where container
// runtimes and image-based systems bind-mount single files and directories.
func isPseudoMount(mountpoint string) bool {
	for _, dir := range [...]string{"/etc/", "/dev/", "/proc/", "/sys/", "/run/", "/usr/", "/var/run/"} {
		if strings.HasPrefix(mountpoint+"/", dir) {
			return true
		}
	}
	return false
}

// byImportance sorts the mount that represents its device first: the root directory, a mount of the
// whole file system rather than of a directory in it, the shortest path.
func byImportance(a, b *mountinfo.Info) int {
	return cmp.Or(
		answer.TrueFirst(a.Mountpoint == "/", b.Mountpoint == "/"),
		answer.TrueFirst(a.Mountpoint != "", b.Mountpoint != ""),
		answer.TrueFirst(a.Root == "/", b.Root == "/"),
		cmp.Compare(len(a.Mountpoint), len(b.Mountpoint)),
		cmp.Compare(a.Mountpoint, b.Mountpoint),
	)
}

func byPath(a, b Mount) int {
	return cmp.Or(
		answer.TrueFirst(a.Mountpoint == "/", b.Mountpoint == "/"),
		answer.TrueFirst(a.Mountpoint != "", b.Mountpoint != ""),
		cmp.Compare(strings.Count(a.Mountpoint, "/"), strings.Count(b.Mountpoint, "/")),
		cmp.Compare(a.Mountpoint, b.Mountpoint),
	)
}

// sourceOf returns the device by its name in sysfs where the mount table has another
// one: /dev/root, which is what the kernel calls the device it booted from, or a link in
// /dev/disk.
func (fs *FS) sourceOf(m Mount) string {
	named := strings.HasPrefix(m.Source, "/dev/") && m.Source != "/dev/root" && !strings.HasPrefix(m.Source, "/dev/disk/")
	if m.Device.Major == 0 || named {
		return m.Source
	}
	raw, err := hostfile.Read(fs.path("sys/dev/block/"+m.Device.String()+"/uevent"), 4096)
	if err != nil {
		return m.Source
	}
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "DEVNAME="); ok {
			return "/dev/" + name
		}
	}
	return m.Source
}
