// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sentinel/internal/humanize"
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// uptime is not judged.
var uptime = Figure{
	Value:      func(r *Report) *float64 { return number(r.UptimeSeconds) },
	Metric:     Metric{Name: "sentinel_uptime_seconds", Help: "Time since boot.", Kind: prometheus.Gauge},
	Instrument: otlp.Instrument{Name: "system.uptime", Unit: "s"},
	Title:      "up for",
	Text: func(r *Report) string {
		if r.UptimeSeconds == nil {
			return ""
		}
		return humanize.Duration(*r.UptimeSeconds)
	},
}

// processCount is not judged.
var processCount = Figure{
	Value:      func(r *Report) *float64 { return number(r.Processes) },
	Metric:     Metric{Name: "sentinel_processes", Help: "Processes.", Kind: prometheus.Gauge},
	Instrument: otlp.Instrument{Name: "system.process.count", Unit: "{process}", Kind: otlp.UpDown},
}

// reboot is not judged: when to restart is for people to say.
var reboot = Figure{
	Value: func(r *Report) *float64 {
		if r.RebootRequired == nil {
			return nil
		}
		needed := 0.0
		if *r.RebootRequired {
			needed = 1
		}
		return &needed
	},
	Metric:     Metric{Name: "sentinel_reboot_required", Help: "Whether updates that are installed wait for a reboot.", Kind: prometheus.Gauge},
	Instrument: otlp.Instrument{Name: "sentinel.reboot_required"},
	Title:      "reboot",
	Text: func(r *Report) string {
		if r.RebootRequired == nil || !*r.RebootRequired {
			return ""
		}
		return "needed for updates to take effect"
	},
}

// number turns a count that may be unknown into a value.
func number[T int | int64 | uint64](n *T) *float64 {
	if n == nil {
		return nil
	}
	value := float64(*n)
	return &value
}

// gauge writes a number that may be unknown.
func gauge[T int | uint64 | float64](p *prometheus.Page, name, help string, scale float64, value *T, labels ...prometheus.Label) {
	if value != nil {
		p.Add(name, help, prometheus.Gauge, float64(*value)*scale, labels...)
	}
}
