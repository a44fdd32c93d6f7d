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
	"sentinel/platform/darwin/profiler"
)

// Why something of a volume is not known.
var (
	errUsage      = errors.New("neither diskutil nor system_profiler tells how full it is")
	errEncryption = errors.New("diskutil tells of APFS volumes alone whether they are encrypted")
)

// systemVolumes is where macOS mounts what belongs to the volume at /: the volume of
// the data, those that it starts from and swaps to. People never see them.
const systemVolumes = "/System/Volumes/"

// Volumes implements [assets.Source]. The sealed system volume and the volume of
// the data are one to people, and one here: "/". Their space is that of their container.
func (v *Inventory) Volumes(ctx context.Context) ([]assets.Volume, error) {
	v.begin(ctx)
	mounted, err := v.mounted()
	if err != nil {
		return nil, err
	}
	report, _ := v.report() //nolint:errcheck // what it would have told is missing then
	seen := map[string]bool{}
	var list []assets.Volume
	for _, m := range mounted {
		if strings.HasPrefix(m.Mountpoint, systemVolumes) || seen[m.Device+m.Mountpoint] {
			continue
		}
		seen[m.Device+m.Mountpoint] = true
		list = append(list, volume(m, storageOf(report, m.Device)))
	}
	slices.SortFunc(list, func(a, b assets.Volume) int {
		return cmp.Or(cmp.Compare(depth(a.Mountpoint), depth(b.Mountpoint)), cmp.Compare(a.Mountpoint, b.Mountpoint))
	})
	return list, nil
}

func volume(m diskutil.Volume, told profiler.Volume) assets.Volume {
	made := assets.Volume{
		Device: "/dev/" + m.Device, Mountpoint: m.Mountpoint, FileSystem: told.FileSystem,
		ReadOnly: m.Snapshot || told.ReadOnly, Number: m.Of, Pool: m.Container,
	}
	switch {
	case m.Container != "":
		made.FileSystem = "apfs"
	case made.FileSystem == "":
		made.FileSystem = m.Content
	}
	return made
}

// storageOf finds what system_profiler says of a device.
func storageOf(report profiler.Report, device string) profiler.Volume {
	for _, v := range report.Storage {
		if v.Device == device {
			return v
		}
	}
	return profiler.Volume{}
}

// depth is 0 for the root.
func depth(path string) int {
	if path == "/" {
		return 0
	}
	return strings.Count(path, "/")
}

// Inspect implements [assets.Source]. What the programs printed once answers for
// all volumes.
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

// inspectContainer fills in what the container of a volume tells.
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
	s.Size, s.Used, s.UsageErr = c.Size, c.Size-c.Free, nil
	keeper := volume.Number
	if volume.Mountpoint == "/" {
		keeper = v.dataVolume(keeper)
	}
	for _, one := range c.Volumes {
		if one.Device == keeper && one.FileVault != nil {
			s.Encrypted, s.EncryptedErr = *one.FileVault, nil
		}
	}
}

// data is the volume that keeps what people write below "/". Nobody's secrets
// are in the system volume, which some installers leave unencrypted.
func (v *Inventory) dataVolume(system string) string {
	mounted, _ := v.mounted() //nolint:errcheck // asked before, and then there is no volume to ask about
	for _, m := range mounted {
		if m.Mountpoint == systemVolumes+"Data" {
			return m.Of
		}
	}
	return system
}
