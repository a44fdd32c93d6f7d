// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"math"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

var load = Figure{
	Key:     "load_per_core",
	Help:    "5-minute load average divided by cores; critical only while the last minute and the processor bear it out",
	Value:   func(r *Report) *float64 { return perCore5(cpuOf(r)) },
	Default: Threshold{Level: Level{1.5, 4}},
	Max:     maxCount,
	Reasons: func(r *Report, t Thresholds) []Reason {
		value, level := perCore5(cpuOf(r)), t["load_per_core"].Level
		if value == nil {
			return nil
		}
		message := fmt.Sprintf("The 5-minute load average is %.2f for each core", *value)
		if doubt := r.doubtsLoad(t); doubt != "" {
			level.Critical = math.Inf(1)
			message += "; " + doubt
		}
		return reach("LOAD_HIGH", level, *value, message+".")
	},
	Culprit: usersOf("cpu", "io"),
	Metrics: func(r *Report, p *prometheus.Page) {
		c := cpuOf(r)
		if c.Cores > 0 {
			gauge(p, "sentinel_cpu_cores", "Cores that are online.", 1, &c.Cores)
		}
		gauge(p, "sentinel_load1", "Load average of one minute.", 1, c.Load1)
		gauge(p, "sentinel_load5", "Load average of five minutes.", 1, c.Load5)
		gauge(p, "sentinel_load15", "Load average of fifteen minutes.", 1, c.Load15)
	},
	// The conventions have no load average; these are the names of the Collector's own receiver of
	// host metrics.
	Instruments: func(r *Report, m *otlp.Metrics) {
		c := cpuOf(r)
		if c.Cores > 0 {
			m.Int(otlp.Instrument{Name: "system.cpu.logical.count", Unit: "{cpu}", Description: "Cores that are online.", Kind: otlp.UpDown}, uint64(c.Cores))
		}
		double(m, otlp.Instrument{Name: "system.cpu.load_average.1m", Unit: "{thread}", Description: "Load average of one minute."}, 1, c.Load1)
		double(m, otlp.Instrument{Name: "system.cpu.load_average.5m", Unit: "{thread}", Description: "Load average of five minutes."}, 1, c.Load5)
		double(m, otlp.Instrument{Name: "system.cpu.load_average.15m", Unit: "{thread}", Description: "Load average of fifteen minutes."}, 1, c.Load15)
	},
}

func perCore5(c CPU) *float64 {
	if c.Load5 == nil || c.Cores == 0 {
		return nil
	}
	value := round(*c.Load5/float64(c.Cores), 2)
	return &value
}

// doubtsLoad says what contradicts that a high load goes on: the average falls for
// minutes after its cause is gone, and on Linux it counts tasks that wait for a disk, too
// (Documentation/filesystems/proc.rst). It is "" if nothing does.
func (r *Report) doubtsLoad(t Thresholds) string {
	c := cpuOf(r)
	waited := r.Pressure["cpu"].SomeAvg60
	switch {
	case c.Load1 != nil && *c.Load1/float64(c.Cores) < t["load_per_core"].Critical:
		return fmt.Sprintf("in the last minute it was %.2f", *c.Load1/float64(c.Cores))
	case waited != nil && *waited >= t["pressure_cpu"].Warning:
		return ""
	case c.Percent != nil && *c.Percent < t["cpu"].Warning:
		return fmt.Sprintf("the processor is %.0f %% busy, so tasks wait for something else", *c.Percent)
	default:
		return ""
	}
}

// maxCount is the highest bound of what is counted.
const maxCount = 1e6
