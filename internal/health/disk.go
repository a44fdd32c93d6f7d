// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"

	"sentinel/internal/humanize"
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
	"sentinel/internal/sanitize"
)

// disk judges each file system by what runs out first. The page for people has
// a table of them.
var disk = Figure{
	Key:     "disk",
	Help:    "percent used, bytes or inodes, of each writable local file system, and of those in memory at /tmp, /var/tmp, /run, /run/lock and /dev/shm",
	Unit:    "%",
	Default: Threshold{Level: Level{85, 95}},
	Max:     100,
	Parts: func(r *Report) (parts []Measurement) {
		for _, d := range r.Disks {
			if !d.ReadOnly {
				parts = append(parts, Measurement{Part: d.Mountpoint, Value: d.fullness()})
			}
		}
		return parts
	},
	Reasons: func(r *Report, t Thresholds) (reasons []Reason) {
		for _, d := range slices.Concat(r.Disks, r.inMemory) {
			for _, reason := range d.reasons(t["disk"].Level) {
				reason.Object = d.Mountpoint
				reasons = append(reasons, reason)
			}
		}
		return reasons
	},
	Metrics: func(r *Report, p *prometheus.Page) {
		for _, d := range r.Disks {
			labels := []prometheus.Label{{Name: "mountpoint", Value: d.Mountpoint}, {Name: "device", Value: d.Device}, {Name: "fstype", Value: d.FileSystem}}
			gauge(p, "sentinel_disk_size_bytes", "Size of a file system.", 1, &d.SizeBytes, labels...)
			gauge(p, "sentinel_disk_used_bytes", "What is used of a file system.", 1, &d.UsedBytes, labels...)
			gauge(p, "sentinel_disk_available_bytes", "What ordinary users can still use of a file system.", 1, &d.AvailableBytes, labels...)
			gauge(p, "sentinel_disk_inodes_used_ratio", "Share of the inodes of a file system in use, 0 to 1.", 0.01, d.InodesUsedPercent, labels...)
		}
	},
	Instruments: func(r *Report, m *otlp.Metrics) {
		for _, d := range r.Disks {
			d.observe(m)
		}
	},
}

// observe writes the sizes of one file system. What only root may fill counts as reserved.
func (d Disk) observe(m *otlp.Metrics) {
	mode := "rw"
	if d.ReadOnly {
		mode = "ro"
	}
	of := []otlp.Attribute{
		{Key: "system.device", Value: d.Device}, {Key: "system.filesystem.mountpoint", Value: d.Mountpoint}, {Key: "system.filesystem.type", Value: d.FileSystem},
		{Key: "system.filesystem.mode", Value: mode},
	}
	in := func(state string) []otlp.Attribute {
		return append(slices.Clone(of), otlp.Attribute{Key: "system.filesystem.state", Value: state})
	}
	usage := otlp.Instrument{Name: "system.filesystem.usage", Unit: "By", Description: "Space of a file system by what it is used for.", Kind: otlp.UpDown}
	m.Int(otlp.Instrument{Name: "system.filesystem.limit", Unit: "By", Description: "Size of a file system.", Kind: otlp.UpDown}, d.SizeBytes, of...)
	m.Int(usage, d.UsedBytes, in("used")...)
	m.Int(usage, d.AvailableBytes, in("free")...)
	m.Int(usage, d.SizeBytes-min(d.SizeBytes, d.UsedBytes+d.AvailableBytes), in("reserved")...)
	double(m, otlp.Instrument{Name: "system.filesystem.utilization", Unit: "1", Description: "Share of the space in use, as df has it."}, 0.01, &d.UsedPercent, in("used")...)
	double(m, otlp.Instrument{Name: "sentinel.filesystem.inodes.utilization", Unit: "1", Description: "Share of the inodes in use."}, 0.01, d.InodesUsedPercent, of...)
}

// reasons are that there is hardly any space left, that there are hardly any inodes left, or both. A
// file system without inodes takes no new file, however much space it has.
func (d Disk) reasons(level Level) []Reason {
	if d.ReadOnly {
		return nil
	}
	at, device := sanitize.Quoted(d.Mountpoint, maxName), sanitize.Quoted(d.Device, maxName) // whoever labels a disk chooses
	list := reach("DISK_FULL", level, d.UsedPercent, fmt.Sprintf("The file system at %s is %.0f %% full.", at, d.UsedPercent))
	for i := range list {
		list[i].Culprit = fmt.Sprintf("%s: %s of %s left", device, humanize.Bytes(d.AvailableBytes), humanize.Bytes(d.SizeBytes))
	}
	if d.InodesUsedPercent == nil {
		return list
	}
	inodes := reach("INODES_FULL", level, *d.InodesUsedPercent, fmt.Sprintf("The file system at %s has %.0f %% of its inodes in use, and %.0f %% of its space.", at, *d.InodesUsedPercent, d.UsedPercent))
	for i := range inodes {
		inodes[i].Culprit = device + ": it holds very many files, and takes no new one without a free inode"
	}
	return append(list, inodes...)
}
