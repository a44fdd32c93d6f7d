// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package diskusage finds what fills a file system of Linux.
package diskusage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"sentinel/internal/diskusage"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/treesize"
)

// maxEntries bounds how many files and directories are looked at.
const maxEntries = 20_000_000

// A Source reads the files below a root directory.
type Source struct {
	root   string
	mounts *mounts.FS
	proc   procfs.FS
}

var _ diskusage.Source = (*Source)(nil)

// New returns the source for the system below root, "/" on a live one.
func New(root string) *Source {
	return &Source{root: root, mounts: mounts.New(root), proc: procfs.New(root)}
}

// Place finds the mount of a directory by the mount table alone.
func (s *Source) Place(ctx context.Context, path string) (diskusage.Place, error) {
	table, err := s.mounts.Table()
	if err != nil {
		return diskusage.Place{}, err
	}
	on, below := mounts.At(table, path)
	if on == nil {
		return diskusage.Place{}, errors.New("the mount table does not have it")
	}
	device := mounts.DeviceOf(on)
	p := diskusage.Place{
		Path: path, Remote: mounts.Remote(on.FSType), MadeUp: mounts.MadeUp(on.FSType), Whole: on.Mountpoint == path && on.Root == "/",
		FileSystem: diskusage.Mounted{
			Mountpoint: on.Mountpoint, Device: on.Source, Type: on.FSType, DeviceMajor: device.Major, DeviceMinor: device.Minor,
			// Subvolumes and data sets share the space of their pool; an overlay has that of what is below it.
			SharesSpace: slices.Contains([]string{"btrfs", "zfs", "bcachefs", "overlay"}, on.FSType),
		},
	}
	p.FileSystem.ListSnapshots = listSnapshots(on.FSType, on.Source, on.Mountpoint)
	for _, m := range below {
		p.Below = append(p.Below, diskusage.Mount{Path: m.Mountpoint, FileSystem: m.FSType, Holds: holdsFiles(m.FSType)})
	}
	if !p.Remote {
		u, err := s.mounts.Usage(ctx, on.Mountpoint)
		f := &p.FileSystem
		f.Size, f.Used, f.Available, f.Inodes, f.InodesUsed, f.Err = u.Size, u.Used, u.Available, u.Inodes, u.InodesUsed, err
	}
	return p, nil
}

// inMemory keep files in memory, or none that change.
var inMemory = []string{"autofs", "devtmpfs", "hugetlbfs", "mqueue", "ramfs", "tmpfs", "squashfs", "erofs", "iso9660"}

// holdsFiles reports whether somebody may miss the files of a file system in the answer.
func holdsFiles(kind string) bool {
	return !mounts.MadeUp(kind) && !slices.Contains(inMemory, kind)
}

// Walk adds up a directory.
func (s *Source) Walk(ctx context.Context, place diskusage.Place, watch []string, seen *atomic.Int64) (diskusage.Tree, error) {
	o := treesize.Options{Root: s.root, Dir: place.Path, Watch: watch, Entries: maxEntries, Seen: seen}
	for _, m := range place.Below {
		o.Skip = append(o.Skip, m.Path)
	}
	return treesize.Walk(ctx, o)
}

// Caches lists the journal and what package managers keep, by their manuals.
func (s *Source) Caches() []diskusage.Cache {
	return []diskusage.Cache{
		{Name: "systemd journal", Path: "/var/log/journal", Free: "journalctl --vacuum-size=200M as root keeps the newest 200 MB; SystemMaxUse in /etc/systemd/journald.conf bounds it"},
		{Name: "apt", Path: "/var/cache/apt/archives", Free: "apt-get clean as root; packages are downloaded again when they are needed"},
		{Name: "dnf", Path: "/var/cache/dnf", Free: "dnf clean all as root; packages and lists are downloaded again when they are needed"},
		{Name: "dnf", Path: "/var/cache/libdnf5", Free: "dnf clean all as root; packages and lists are downloaded again when they are needed"},
		{Name: "yum", Path: "/var/cache/yum", Free: "yum clean all as root; packages and lists are downloaded again when they are needed"},
		{Name: "pacman", Path: "/var/cache/pacman/pkg", Free: "pacman -Sc as root removes packages that are not installed any more; going back to an older version needs those that stay"},
		{Name: "zypper", Path: "/var/cache/zypp", Free: "zypper clean --all as root; packages and lists are downloaded again when they are needed"},
	}
}

// listSnapshots returns the command that lists what holds space of a file system. Snapshots of LVM hold
// space of their volume group: a file system does not become fuller by them.
func listSnapshots(kind, device, mountpoint string) string {
	switch kind {
	case "btrfs":
		return "btrfs subvolume list -s " + word(mountpoint)
	case "zfs":
		return "zfs list -t snapshot -r " + word(device)
	default:
		return ""
	}
}

// word quotes a name for a shell.
func word(name string) string {
	if !strings.ContainsFunc(name, special) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

func special(r rune) bool {
	alphanumeric := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !alphanumeric && !strings.ContainsRune("/._-+:@", r)
}

// Snapshots returns none: those of btrfs and ZFS are not told without root's tools; see listSnapshots.
func (s *Source) Snapshots(context.Context, diskusage.Place) ([]string, error) { return nil, nil }
