// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/humanize"
	"sentinel/internal/prometheus"
)

// For the processor some waiting counts; for memory and disks only when everything
// waits.
var (
	pressureCPU = Figure{
		Key:     "pressure_cpu",
		Help:    "percent of the last minute in which some task waited for a processor",
		Unit:    "%",
		Value:   func(r *Report) *float64 { return r.Pressure["cpu"].SomeAvg60 },
		Default: Threshold{Level: Level{40, 80}},
		Max:     100,
		Code:    "CPU_PRESSURE",
		Message: "Tasks waited for the processor %.0f %% of the last minute.",
		Culprit: usersOf("cpu"),
		Metrics: pressureMetrics,
		Title:   "waiting",
		Text:    pressureText,
	}
	pressureMemory = Figure{
		Key:     "pressure_memory",
		Help:    "percent of the last minute in which all tasks waited for memory",
		Unit:    "%",
		Value:   func(r *Report) *float64 { return r.Pressure["memory"].FullAvg60 },
		Default: Threshold{Level: Level{10, 30}},
		Max:     100,
		Code:    "MEMORY_PRESSURE",
		Message: "All tasks waited for memory %.0f %% of the last minute.",
		Culprit: usersOf("memory"),
	}
	pressureIO = Figure{
		Key:     "pressure_io",
		Help:    "percent of the last minute in which all tasks waited for disks",
		Unit:    "%",
		Value:   func(r *Report) *float64 { return r.Pressure["io"].FullAvg60 },
		Default: Threshold{Level: Level{20, 50}},
		Max:     100,
		Code:    "IO_PRESSURE",
		Message: "All tasks waited for disks %.0f %% of the last minute.",
		Culprit: usersOf("io"),
	}
)

// pressureMetrics are those of all resources.
func pressureMetrics(r *Report, p *prometheus.Page) {
	for _, resource := range slices.Sorted(maps.Keys(r.Pressure)) {
		pressure := r.Pressure[resource]
		for _, s := range []struct {
			kind, span string
			share      *float64
		}{
			{"some", "10s", pressure.SomeAvg10},
			{"some", "60s", pressure.SomeAvg60},
			{"full", "10s", pressure.FullAvg10},
			{"full", "60s", pressure.FullAvg60},
		} {
			gauge(p, "sentinel_pressure_ratio", "Share of time in which tasks waited for the resource, 0 to 1.", 0.01, s.share,
				prometheus.Label{Name: "resource", Value: resource}, prometheus.Label{Name: "kind", Value: s.kind}, prometheus.Label{Name: "span", Value: s.span})
		}
	}
}

// pressureText shows the last minute of each resource.
func pressureText(r *Report) string {
	var parts []string
	for _, resource := range []string{"cpu", "memory", "io"} {
		if p := r.Pressure[resource].SomeAvg60; p != nil {
			parts = append(parts, fmt.Sprintf("%s %s", resource, humanize.Percent(*p)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " of the last minute"
}
