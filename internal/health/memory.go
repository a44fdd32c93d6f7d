// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/humanize"
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

var memory = Figure{
	Key:  "memory",
	Help: "percent that is not available; in a container with a limit, of the limit",
	Unit: "%",
	Value: func(r *Report) *float64 {
		if r.Memory == nil {
			return nil
		}
		return &r.Memory.UsedPercent
	},
	Default: Threshold{Level: Level{85, 95}},
	Max:     100,
	Code:    "MEMORY_LOW",
	Message: "Memory is %.0f %% used.",
	Culprit: usersOf("memory"),
	Metrics: func(r *Report, p *prometheus.Page) {
		if m := r.Memory; m != nil {
			gauge(p, "sentinel_memory_total_bytes", "Memory of the host, or of its container where that has a limit.", 1, &m.TotalBytes)
			gauge(p, "sentinel_memory_used_bytes", "Memory in use.", 1, &m.UsedBytes)
			gauge(p, "sentinel_memory_available_bytes", "Memory that can be had without swapping.", 1, &m.AvailableBytes)
		}
	},
	// What is used is what is not available, as the conventions have it for Linux.
	Instruments: func(r *Report, m *otlp.Metrics) {
		if r.Memory == nil {
			return
		}
		used := otlp.Attribute{Key: "system.memory.state", Value: "used"}
		m.Int(otlp.Instrument{Name: "system.memory.limit", Unit: "By", Description: "Memory of the host, or of its container where that has a limit.", Kind: otlp.UpDown}, r.Memory.TotalBytes)
		m.Int(otlp.Instrument{Name: "system.memory.usage", Unit: "By", Description: "Memory in use.", Kind: otlp.UpDown}, r.Memory.UsedBytes, used)
		double(m, otlp.Instrument{Name: "system.memory.utilization", Unit: "1", Description: "Share of the memory in use."}, 0.01, &r.Memory.UsedPercent, used)
	},
	Title: "memory",
	Text: func(r *Report) string {
		m := r.Memory
		if m == nil {
			return ""
		}
		text := usedText(m.UsedBytes, m.TotalBytes, m.UsedPercent)
		if m.sharesMuch() {
			text += ", " + humanize.Bytes(m.SharedBytes) + " of it shared or in a tmpfs"
		}
		if m.PressureLevel != "" {
			text += ", pressure " + m.PressureLevel
		}
		return text
	},
}

// memoryLevel is the kernel's own word for a lack of memory.
var memoryLevel = Figure{
	Reasons: func(r *Report, _ Thresholds) []Reason {
		if r.Memory == nil {
			return nil
		}
		level := r.Memory.PressureLevel
		severity := map[string]string{PressureWarning: Warning, PressureCritical: Critical}[level]
		return wrong("MEMORY_PRESSURE", severity, severity != "", fmt.Sprintf("The kernel is short of memory: its level is %s.", level))
	},
	Culprit: usersOf("memory"),
}

// sharesMuch reports whether what is shared is a tenth of all memory: every desktop has a few percent of it.
func (m *Memory) sharesMuch() bool { return m.SharedBytes > 0 && m.SharedBytes >= m.TotalBytes/10 }

func usedText(used, total uint64, percent float64) string {
	return fmt.Sprintf("%s of %s used (%s)", humanize.Bytes(used), humanize.Bytes(total), humanize.Percent(percent))
}
