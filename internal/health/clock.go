// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/prometheus"
)

// The keys of the figures about the clock, for readers.
const (
	ClockUnsynchronized = "clock_unsynchronized"
	ClockOffset         = "clock_offset_seconds"
)

// clockUnsynchronized goes by the kernel's flag STA_UNSYNC. A time daemon clears it, and
// the kernel sets it again after hours without one. By default it is no reason: the host keeps
// the clock of many virtual machines, and their kernel does not know.
var clockUnsynchronized = Figure{
	Key:     ClockUnsynchronized,
	Help:    "a clock that nothing keeps in step with a time server, as far as the kernel knows",
	Member:  Bool,
	Default: Threshold{Severity: "none"},
	Code:    "CLOCK_UNSYNCHRONIZED",
	Message: "Nothing keeps the clock in step with a time server.",
	Metric:  Metric{Name: "sentinel_clock_unsynchronized", Kind: prometheus.Gauge},
	Title:   "clock",
	Text: func(r *Report) string {
		loose, known := r.readings[ClockUnsynchronized]
		offset, measured := r.readings[ClockOffset]
		switch {
		case !known:
			return ""
		case loose.Value > 0:
			return "not synchronized"
		case !measured:
			return "synchronized"
		default:
			return fmt.Sprintf("synchronized, %.1f ms off", 1000*offset.Value)
		}
	},
}

// clockOffset is what is left of a correction under way: the kernel's, at most half a second
// (adjtimex(2)), or that of chronyd, which tells its own. Clocks that are further off are mostly stepped.
var clockOffset = Figure{
	Key:     ClockOffset,
	Help:    "seconds that the clock still has to be corrected by, either way, while it is synchronized; the kernel and chronyd know it",
	Unit:    "s",
	Member:  Number,
	Default: Threshold{Level: Level{0.1, 0.4}},
	Max:     60,
	Code:    "CLOCK_OFFSET",
	Message: "The clock is %.3f s off.",
	Metric:  Metric{Name: "sentinel_clock_offset_seconds", Kind: prometheus.Gauge},
}
