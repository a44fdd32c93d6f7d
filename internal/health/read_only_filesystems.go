// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// ReadOnlyFileSystems is the key of [readOnlyFileSystems] for readers.
const ReadOnlyFileSystems = "read_only_filesystems"

// readOnlyFileSystems counts what should be writable and is not: a kernel that
// meets an error on a disk stops writing to it. What is read-only by its nature, by the
// configuration of the machine or by a switch on the device does not count; see the readers.
var readOnlyFileSystems = Figure{
	Key:          ReadOnlyFileSystems,
	Help:         "local file systems that should be writable and became read-only, as after an error of a disk",
	Member:       Number,
	Default:      Threshold{Severity: "warning"},
	Code:         "FILESYSTEM_READ_ONLY",
	Message:      "File systems that became read-only.",
	Instrument:   otlp.Instrument{Unit: "{filesystem}"},
	Metric:       Metric{Name: "sentinel_read_only_filesystems", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "read-only",
	Text: func(r *Report) string {
		reading := r.readings[ReadOnlyFileSystems]
		if reading.Value == 0 {
			return ""
		}
		return listed(reading.Names) + ", and should be writable"
	},
}
