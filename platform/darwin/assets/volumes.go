// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"sentinel/internal/assets"
	"sentinel/platform/darwin/diskutil"
	"sentinel/platform/darwin/mount"
	"sentinel/platform/darwin/systemprofiler"
)

// Why something of a volume is not known.
var (
	errUsage      = errors.New("neither diskutil nor system_profiler says how full it is")
	errNoData     = errors.New("diskutil does not say which volume holds the data below the root")
	errEncryption = errors.New("diskutil says only of APFS volumes whether they are encrypted")
)

// systemVolumes is where macOS mounts what belongs to the volume at /: the data
// volume, and those that it boots from and swaps to. Users never see them.
const systemVolumes = "/System/Volumes/"

// Volumes implements [assets.Source]. The sealed system volume and the data volume
// appear as one in macOS, and here: "/". Their space is that of their container.
func (v *Inventory) Volumes(ctx context.Context) ([]assets.Volume, error) {
	v.begin(ctx)
	mounted, err := v.mounted()
	if len(mounted) == 0 {
		return nil, err
	}
	report, _ := v.report() //nolint:errcheck // its part is missing then
	mounts, _ := v.mounts() //nolint:errcheck // system_profiler is asked then
	seen := map[string]bool{}
	var list []assets.Volume
	for _, m := range mounted {
		if strings.HasPrefix(m.Mountpoint, systemVolumes) || seen[m.Device+m.Mountpoint] {
			continue
		}
		seen[m.Device+m.Mountpoint] = true
		one := volume(m, storageOf(report, m.Device))
		if e, known := mounts[mount.Key{Device: one.Device, Mountpoint: m.Mountpoint}]; known {
			one.ReadOnly = &e.ReadOnly
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b assets.Volume) int {
		return cmp.Or(cmp.Compare(depth(a.Mountpoint), depth(b.Mountpoint)), cmp.Compare(a.Mountpoint, b.Mountpoint))
	})
	return list, err
}

func volume(m diskutil.Volume, reported systemprofiler.Volume) assets.Volume {
	made := assets.Volume{
		Device: "/dev/" + m.Device, Mountpoint: m.Mountpoint, FileSystem: reported.FileSystem,
		ReadOnly: reported.ReadOnly, Number: m.BaseDevice, Pool: m.Container,
	}
	if m.Snapshot {
		made.ReadOnly = new(true)
	}
	switch {
	case m.Container != "":
		made.FileSystem = "apfs"
	case made.FileSystem == "":
		made.FileSystem = m.Content
	}
	return made
}

// storageOf returns what system_profiler says of a device.
func storageOf(report systemprofiler.Report, device string) systemprofiler.Volume {
	for _, v := range report.Storage {
		if v.Device == device {
			return v
		}
	}
	return systemprofiler.Volume{}
}

// depth is 0 for the root.
func depth(path string) int {
	if path == "/" {
		return 0
	}
	return strings.Count(path, "/")
}

// Inspect implements [assets.Source], from what the programs printed for all
// volumes.
func (v *Inventory) Inspect(ctx context.Context, volume assets.Volume) assets.VolumeState {
	v.begin(ctx)
	s := assets.VolumeState{UsageErr: errUsage, EncryptedErr: errEncryption}
	if volume.Pool != "" {
		v.inspectContainer(volume, &s)
	}
	if s.UsageErr == nil {
		return s
	}
	report, err := v.report()
	known := storageOf(report, strings.TrimPrefix(volume.Device, "/dev/"))
	switch {
	case known.Size > 0:
		s.Size, s.Used, s.UsageErr = known.Size, known.Size-known.Free, nil
	case err != nil && volume.Pool == "":
		s.UsageErr = err
	}
	return s
}

// inspectContainer fills in what is known of the container of a volume.
func (v *Inventory) inspectContainer(volume assets.Volume, s *assets.VolumeState) {
	containers, err := v.containers()
	if err != nil {
		s.UsageErr, s.EncryptedErr = err, err
		return
	}
	at := slices.IndexFunc(containers, func(c diskutil.Container) bool { return c.Reference == volume.Pool })
	if at < 0 {
		return
	}
	c := containers[at]
	if c.Free != nil {
		s.Size, s.Used, s.UsageErr = c.Size, c.Size-*c.Free, nil
	}
	device, err := volume.Number, error(nil)
	if volume.Mountpoint == "/" {
		device, err = v.dataVolume(volume, c)
	}
	if err != nil {
		s.EncryptedErr = err
		return
	}
	for _, one := range c.Volumes {
		if one.Device == device && one.FileVault != nil {
			s.Encrypted, s.EncryptedErr = *one.FileVault, nil
		}
	}
}

// dataVolume is the volume with what is written below "/". The system volume holds nothing
// confidential, and some installers leave it unencrypted, so it says nothing of the other; before
// macOS 10.15 there was no other.
func (v *Inventory) dataVolume(root assets.Volume, c diskutil.Container) (string, error) {
	mounted, _ := v.mounted() //nolint:errcheck // asked before, and then there is no volume to ask about
	for _, m := range mounted {
		if m.Mountpoint == systemVolumes+"Data" {
			return m.BaseDevice, nil
		}
	}
	var data []string
	system := root.ReadOnly == nil || *root.ReadOnly
	for _, one := range c.Volumes {
		if one.HasRole("Data") {
			data = append(data, one.Device)
		}
		system = system || one.Device == root.Number && one.HasRole("System")
	}
	switch {
	case len(data) == 1:
		return data[0], nil
	case system || len(data) > 1:
		return "", errNoData
	}
	return root.Number, nil
}
