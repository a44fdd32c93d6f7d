// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"

	"sentinel/internal/assets"
	"sentinel/platform/linux/mounts"
)

// Volumes implements [assets.Source].
func (v *Inventory) Volumes(context.Context) ([]assets.Volume, error) {
	list, err := v.mounts.Local()
	if err != nil {
		return nil, reason(err)
	}
	out := make([]assets.Volume, 0, len(list))
	for _, m := range list {
		out = append(out, assets.Volume{
			Device: m.Source, Mountpoint: m.Mountpoint, FileSystem: m.Type, ReadOnly: &m.ReadOnly, Number: m.Device.String(),
		})
	}
	return out, nil
}

// Inspect implements [assets.Source].
func (v *Inventory) Inspect(ctx context.Context, volume assets.Volume) assets.VolumeState {
	var s assets.VolumeState
	usage, err := v.mounts.Usage(ctx, volume.Mountpoint)
	s.Size, s.Used, s.UsageErr = usage.Size, usage.Used, reason(err)
	device, err := mounts.ParseDevice(volume.Number)
	if err == nil {
		s.Encrypted, err = v.mounts.Encrypted(mounts.Mount{Source: volume.Device, Type: volume.FileSystem, Device: device})
	}
	s.EncryptedErr = reason(err)
	return s
}
