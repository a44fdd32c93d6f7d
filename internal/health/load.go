// SPDX-License-Identifier: Apache-2.0

package health

import "sentinel/internal/prometheus"

var load = Figure{
	Key:  "load_per_core",
	Help: "5-minute load average divided by cores",
	Value: func(r *Report) *float64 {
		c := cpuOf(r)
		if c.Load5 == nil || c.Cores == 0 {
			return nil
		}
		perCore := round(*c.Load5/float64(c.Cores), 2)
		return &perCore
	},
	Default: Threshold{Level: Level{1.5, 4}},
	Max:     maxCount,
	Code:    "LOAD_HIGH",
	Message: "The 5-minute load average is %.2f for each core.",
	Metrics: func(r *Report, p *prometheus.Page) {
		c := cpuOf(r)
		if c.Cores > 0 {
			gauge(p, "sentinel_cpu_cores", "Cores that are online.", 1, &c.Cores)
		}
		gauge(p, "sentinel_load1", "Load average of one minute.", 1, c.Load1)
		gauge(p, "sentinel_load5", "Load average of five minutes.", 1, c.Load5)
		gauge(p, "sentinel_load15", "Load average of fifteen minutes.", 1, c.Load15)
	},
}

// maxCount is the highest bound of what is counted.
const maxCount = 1e6
