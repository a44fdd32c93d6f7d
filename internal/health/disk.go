// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/humanize"
	"sentinel/internal/prometheus"
)

// disk judges each file system by what runs out first. The page for people has
// a table of them.
var disk = Figure{
	Key:     "disk",
	Help:    "percent used, bytes or inodes, of each writable local file system",
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
		for _, d := range r.Disks {
			full := d.fullness()
			for _, reason := range reach("DISK_FULL", t["disk"].Level, full, fmt.Sprintf("The file system at %s is %.0f %% full.", d.Mountpoint, full)) {
				reason.Culprit, reason.Object = d.runsOutOf(), d.Mountpoint
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
}

// runsOutOf says what a full file system is, and lacks first.
func (d Disk) runsOutOf() string {
	if d.InodesUsedPercent != nil && *d.InodesUsedPercent > d.UsedPercent {
		return d.Device + ": it has hardly any inodes left, so it holds very many files"
	}
	return fmt.Sprintf("%s: %s of %s left", d.Device, humanize.Bytes(d.AvailableBytes), humanize.Bytes(d.SizeBytes))
}
