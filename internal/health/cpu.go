// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"math"
	"strings"

	"sentinel/internal/humanize"
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

var cpu = Figure{
	Key:     "cpu",
	Help:    "percent of all cores, over half a second or since the last sample of the recorder, without sentinel itself; critical only when the load or the waiting of the last minute bears it out",
	Unit:    "%",
	Value:   func(r *Report) *float64 { return cpuOf(r).Percent },
	Default: Threshold{Level: Level{90, 98}},
	Max:     100,
	Reasons: func(r *Report, t Thresholds) []Reason {
		percent, level := cpuOf(r).Percent, t["cpu"].Level
		if percent == nil {
			return nil
		}
		if r.isShortBurst(t) {
			level.Critical = math.Inf(1)
		}
		return reach("CPU_HIGH", level, *percent, fmt.Sprintf("The processor is %.0f %% busy.", *percent))
	},
	Culprit: usersOf("cpu"),
	Metric:  Metric{Name: "sentinel_cpu_used_ratio", Help: "Use of all cores over half a second or since the last sample of the recorder, 0 to 1.", Kind: prometheus.Gauge, Scale: 0.01},
	// Without the attribute cpu.mode: it is all modes but idle.
	Instrument: otlp.Instrument{Name: "system.cpu.utilization", Unit: "1"},
	Title:      "processor",
	Text: func(r *Report) string {
		c := cpuOf(r)
		var parts []string
		if c.Percent != nil {
			parts = append(parts, humanize.Percent(*c.Percent)+" busy")
		}
		if c.Cores > 0 {
			parts = append(parts, fmt.Sprintf("cores %d", c.Cores))
		}
		if c.Load15 != nil {
			parts = append(parts, fmt.Sprintf("load %.2f %.2f %.2f", *c.Load1, *c.Load5, *c.Load15))
		}
		return strings.Join(parts, ", ")
	},
}

func cpuOf(r *Report) CPU {
	if r.CPU == nil {
		return CPU{}
	}
	return *r.CPU
}

// briefly says that neither the load of the last minute nor the time that tasks
// waited bears out a busy processor: half a second of work is nothing critical.
func (r *Report) isShortBurst(t Thresholds) bool {
	waited := r.Pressure["cpu"].SomeAvg60
	loadKnown := r.CPU.Load1 != nil && r.CPU.Cores > 0
	switch {
	case waited == nil && !loadKnown:
		return false
	case waited != nil && *waited >= t["pressure_cpu"].Warning:
		return false
	default:
		return !loadKnown || *r.CPU.Load1/float64(r.CPU.Cores) < t["load_per_core"].Warning
	}
}
