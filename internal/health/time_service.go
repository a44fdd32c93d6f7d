// SPDX-License-Identifier: Apache-2.0

package health

import "sentinel/internal/prometheus"

// TimeServiceMissing is the key of [timeServiceMissing] for readers.
const TimeServiceMissing = "time_service_missing"

// timeServiceMissing goes by the kernel's flag and by the processes. A container has the clock of
// its host, for which it is unknown.
var timeServiceMissing = Figure{
	Key:          TimeServiceMissing,
	Help:         "a machine whose clock nothing sets: the kernel knows of no correction, and no time service runs",
	Member:       Bool,
	Default:      Threshold{Severity: "warning"},
	Code:         "TIME_SERVICE_MISSING",
	Message:      "No time service runs, so nothing sets the clock.",
	Metric:       Metric{Name: "sentinel_time_service_missing", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "time service",
	Text: func(r *Report) string {
		if r.readings[TimeServiceMissing].Value == 0 {
			return ""
		}
		return "none runs"
	},
}
