// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// ZombieProcesses is the key of [zombieProcesses] for readers.
const ZombieProcesses = "zombie_processes"

// zombieProcesses come and go in small numbers on every machine. Many are left by
// a program that does not collect its children, and in the end no process can be started.
var zombieProcesses = Figure{
	Key:          ZombieProcesses,
	Help:         "processes that have ended and wait for their parent to notice",
	Member:       Number,
	Default:      Threshold{Level: Level{20, 200}},
	Max:          maxCount,
	Code:         "ZOMBIE_PROCESSES",
	Message:      "Processes that have ended and that their parents leave behind: %.0f.",
	Object:       func(r *Report) string { return firstPID(r, ZombieProcesses) },
	Instrument:   otlp.Instrument{Unit: "{process}"},
	Metric:       Metric{Name: "sentinel_zombie_processes", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "zombies",
	Text: func(r *Report) string {
		if n := r.readings[ZombieProcesses].Value; n > 0 {
			return fmt.Sprintf("%.0f", n)
		}
		return ""
	},
}
