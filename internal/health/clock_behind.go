// SPDX-License-Identifier: Apache-2.0

package health

import "sentinel/internal/prometheus"

// ClockBehind is the key of [clockBehind] for readers.
const ClockBehind = "clock_behind_seconds"

// clockBehind is the time by which files that the system itself writes are in the future. A clock
// that is ahead does not show in this way.
var clockBehind = Figure{
	Key:          ClockBehind,
	Help:         "seconds by which the clock is behind the newest of the files that the system writes at its start, updates and logins",
	Unit:         "s",
	Member:       Number,
	Default:      Threshold{Level: Level{60, 3600}},
	Max:          100 * 365 * 86400,
	Code:         "CLOCK_BEHIND",
	Message:      "The clock is %.0f s behind what the system wrote before, so it is wrong now or was then.",
	Metric:       Metric{Name: "sentinel_clock_behind_seconds", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "clock behind",
	Text: func(r *Report) string {
		if r.readings[ClockBehind].Value == 0 {
			return ""
		}
		return listed(r.readings[ClockBehind].Names)
	},
}
