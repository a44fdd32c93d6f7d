// SPDX-License-Identifier: Apache-2.0

package health

import "sentinel/internal/prometheus"

var oomKills = Figure{
	Key:     "oom_kills",
	Help:    "processes killed for want of memory since boot",
	Value:   func(r *Report) *float64 { return number(r.OOMKills) },
	Default: Threshold{Level: Level{1, 10}},
	Max:     maxCount,
	Code:    "OOM_KILLS",
	Message: "Processes killed for want of memory since boot: %.0f.",
	Metric:  Metric{Name: "sentinel_oom_kills_total", Help: "Processes that the kernel killed for want of memory, since boot.", Kind: prometheus.Counter},
}
