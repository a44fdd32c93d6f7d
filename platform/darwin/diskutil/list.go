// SPDX-License-Identifier: Apache-2.0

package diskutil

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/sysexec"
)

// A Volume is a mounted file system.
type Volume struct {
	Device     string // "disk3s5"; of the snapshot if one is mounted
	BaseDevice string // the volume of the snapshot at Device; else Device
	Mountpoint string
	Name       string
	Content    string // kind of its partition, such as "Apple_HFS"; empty for APFS
	Container  string // its APFS container, such as "disk3"; empty for none
	Size       uint64 // bytes; of the container for APFS
	Internal   bool   // used by macOS itself, such as the swap volume
	Snapshot   bool   // a snapshot, always read-only
}

// Volumes lists the mounted volumes of disks and disk images of this machine.
// Network shares are not among them.
func Volumes(ctx context.Context, runner sysexec.Runner) ([]Volume, error) {
	printed, err := run(ctx, runner, "list", "-plist")
	if err != nil {
		return nil, err
	}
	return ParseList(printed)
}

// list is what "diskutil list -plist" prints (macOS 11 to 26).
type list struct {
	All   []disk   `plist:"AllDisksAndPartitions"`
	Names []string `plist:"VolumesFromDisks"` // of what is mounted
}

type disk struct {
	Device     string `plist:"DeviceIdentifier"`
	Content    string `plist:"Content"`
	Mountpoint string `plist:"MountPoint"` // of a disk without partitions
	Name       string `plist:"VolumeName"`
	Size       uint64 `plist:"Size"`
	Partitions []part `plist:"Partitions"`
	Volumes    []part `plist:"APFSVolumes"`
}

type part struct {
	Device     string     `plist:"DeviceIdentifier"`
	Content    string     `plist:"Content"`
	Mountpoint string     `plist:"MountPoint"`
	Name       string     `plist:"VolumeName"`
	Size       uint64     `plist:"Size"`
	Internal   bool       `plist:"OSInternal"`
	Snapshots  []snapshot `plist:"MountedSnapshots"`
}

type snapshot struct {
	Device     string `plist:"SnapshotBSD"`
	Mountpoint string `plist:"SnapshotMountPoint"`
}

// An Unplaced error names volumes that diskutil counts among the mounted ones without saying where
// they are mounted, or on which device.
type Unplaced struct{ Names []string }

// Error implements error.
func (u Unplaced) Error() string {
	return "diskutil does not say where it has mounted " + strings.Join(u.Names, ", ")
}

// ParseList reads what "diskutil list -plist" prints. A volume without a mount point is not
// mounted, unless its name is among those of the mounted ones: then the list comes with [Unplaced].
func ParseList(printed []byte) ([]Volume, error) {
	var l list
	if err := decode(printed, &l); err != nil {
		return nil, err
	}
	if len(l.All) == 0 || len(l.All) > maxDisks {
		return nil, ErrFormat
	}
	var mounted []Volume
	for _, d := range l.All {
		whole := part{Device: d.Device, Content: d.Content, Mountpoint: d.Mountpoint, Name: d.Name, Size: d.Size}
		mounted = append(mounted, whole.mounted("")...)
		for _, p := range d.Partitions {
			mounted = append(mounted, p.mounted("")...)
		}
		for _, p := range d.Volumes {
			p.Content = ""
			mounted = append(mounted, p.mounted(d.Device)...)
		}
		if len(d.Volumes) > 0 && d.Device == "" || len(mounted) > maxDisks {
			return nil, ErrFormat
		}
	}
	if lost := l.unplaced(mounted); len(lost) > 0 {
		return mounted, Unplaced{lost}
	}
	return mounted, nil
}

// unplaced returns the names of mounted volumes that are not in the list. Several volumes may have
// one name.
func (l list) unplaced(mounted []Volume) []string {
	left := slices.Clone(l.Names[:min(len(l.Names), maxDisks)])
	seen := map[string]bool{}
	for _, v := range mounted {
		at := slices.Index(left, v.Name)
		if at >= 0 && !seen[v.BaseDevice] {
			left = slices.Delete(left, at, at+1)
		}
		seen[v.BaseDevice] = true
	}
	return left
}

// mounted returns an entry for each place where the volume or one of its snapshots is mounted.
func (p part) mounted(container string) []Volume {
	var list []Volume
	v := Volume{
		Device: p.Device, BaseDevice: p.Device, Mountpoint: p.Mountpoint, Name: p.Name, Content: p.Content,
		Container: container, Size: p.Size, Internal: p.Internal,
	}
	if v.Mountpoint != "" && v.Device != "" {
		list = append(list, v)
	}
	for _, s := range p.Snapshots {
		if s.Mountpoint != "" && s.Device != "" {
			v.Device, v.Mountpoint, v.Snapshot = s.Device, s.Mountpoint, true
			list = append(list, v)
		}
	}
	return list
}
