// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

const (
	inspectWorkers = 8   // volumes inspected at a time, so that a dead one does not delay the others
	maxMountpoint  = 128 // characters shown
)

// volumes inspects only the volumes that are shown, and the root, whose encryption
// is part of the security section.
func (c *collector) volumes(ctx context.Context, src Source) {
	volumes, err := src.Volumes(ctx)
	c.gaps.Add("storage.volumes", err)
	if err != nil && volumes == nil {
		c.gaps.Note("security.disk_encryption", "the volumes are not known")
		return
	}
	s := &c.asset.Storage
	if err == nil {
		s.VolumesTotal = new(len(volumes))
	}
	if c.limit > 0 && len(volumes) > c.limit {
		volumes, s.Truncated = volumes[:c.limit], true
	}
	states := inspect(ctx, src, volumes)
	s.Volumes = make([]VolumeRow, 0, len(volumes))
	for i, v := range volumes {
		s.Volumes = append(s.Volumes, volumeRow(v, states[i]))
	}
	c.rootEncryption(volumes, states)
	c.volumeGaps(volumes, states)
}

func inspect(ctx context.Context, src Source, volumes []Volume) []VolumeState {
	states := make([]VolumeState, len(volumes))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(inspectWorkers, len(volumes)) {
		workers.Go(func() {
			for i := range next {
				states[i] = src.Inspect(ctx, volumes[i])
			}
		})
	}
	for i := range volumes {
		next <- i
	}
	close(next)
	workers.Wait()
	return states
}

func volumeRow(v Volume, state VolumeState) VolumeRow {
	r := VolumeRow{
		Device:     sanitize.Text(v.Device, maxText),
		Mountpoint: sanitize.Text(v.Mountpoint, maxMountpoint),
		FileSystem: sanitize.Text(v.FileSystem, 32),
		ReadOnly:   v.ReadOnly,
		Pool:       sanitize.Text(v.Pool, 32),
	}
	if state.UsageErr == nil {
		r.SizeBytes, r.UsedBytes = &state.Size, &state.Used
	}
	if state.EncryptedErr == nil {
		r.Encrypted = &state.Encrypted
	}
	return r
}

func (c *collector) rootEncryption(volumes []Volume, states []VolumeState) {
	for i, v := range volumes {
		if v.Mountpoint != "/" {
			continue
		}
		c.gaps.Add("security.disk_encryption", states[i].EncryptedErr)
		if states[i].EncryptedErr == nil {
			c.asset.Security.DiskEncryption = &states[i].Encrypted
		}
		return
	}
	c.gaps.Note("security.disk_encryption", "the root file system is not in the list of volumes")
}

// volumeGaps lists the first volumes that did not answer in full and counts the
// others.
func (c *collector) volumeGaps(volumes []Volume, states []VolumeState) {
	var places []answer.Place
	for i, v := range volumes {
		field, reason := lacks(v, states[i])
		if reason == "" {
			continue
		}
		places = append(places, answer.Place{Field: "storage.volumes." + sanitize.Text(cmp.Or(v.Mountpoint, v.Device), 60) + field, Reason: reason})
	}
	if more := c.gaps.AddPlaces(places); len(more) > 0 {
		c.gaps.Note("storage.volumes", fmt.Sprintf("%d more volumes did not answer in full", len(more)))
	}
}

// lacks says which field of a volume is not known and why; of several, the field is
// the volume itself.
func lacks(v Volume, state VolumeState) (field, reason string) {
	add := func(name, why string) {
		switch reason {
		case "":
			field, reason = name, why
		case why:
			field = ""
		default:
			field, reason = "", reason+"; "+why
		}
	}
	if state.UsageErr != nil {
		add(".size_bytes", answer.Reason(state.UsageErr))
	}
	if state.EncryptedErr != nil {
		add(".encrypted", answer.Reason(state.EncryptedErr))
	}
	if v.ReadOnly == nil {
		add(".read_only", "whether it is read-only is not told")
	}
	return field, reason
}
