// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/humanize"
	"sentinel/internal/prometheus"
)

// cpuStolen is time in which this virtual machine had work and its host ran others (steal in
// proc_stat(5)). Nothing on this machine can be done about it.
var cpuStolen = Figure{
	Key:     "cpu_stolen",
	Help:    "percent of all cores that other machines on the same host take, over half a second or since the last sample of the recorder",
	Unit:    "%",
	Value:   func(r *Report) *float64 { return cpuOf(r).Stolen },
	Default: Threshold{Level: Level{15, 40}},
	Max:     100,
	Reasons: func(r *Report, t Thresholds) []Reason {
		percent := cpuOf(r).Stolen
		if percent == nil {
			return nil
		}
		reasons := reach("CPU_STOLEN", t["cpu_stolen"].Level, *percent, fmt.Sprintf("The host of this machine gives %.0f %% of its processor time to others (steal).", *percent))
		for i := range reasons {
			reasons[i].Culprit = "the host: no process here; ask who runs it, or move to a larger machine"
		}
		return reasons
	},
	Metric: Metric{Name: "sentinel_cpu_stolen_ratio", Help: "Share of all cores that other machines on the same host take, over half a second or since the last sample of the recorder, 0 to 1.", Kind: prometheus.Gauge, Scale: 0.01},
	Title:  "stolen",
	Text: func(r *Report) string {
		if p := cpuOf(r).Stolen; p != nil {
			return humanize.Percent(*p) + " of the processor, by other machines on the same host"
		}
		return ""
	},
}
