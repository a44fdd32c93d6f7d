// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"
	"time"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// restartingUnits are not failed: between two deaths they look like any service that runs, or starts.
var restartingUnits = Figure{
	Key:     "restarting_units",
	Help:    "services that keep dying and that the service manager starts again and again",
	Value:   func(r *Report) *float64 { return number(r.RestartingUnitsTotal) },
	Default: Threshold{Level: Level{1, 10}},
	Max:     maxCount,
	Code:    "RESTARTING_UNITS",
	Message: "Services that keep dying and are started again: %.0f.",
	Culprit: restartingNames,
	Object: func(r *Report) string {
		if len(r.RestartingUnits) == 0 {
			return ""
		}
		return r.RestartingUnits[0].Name
	},
	LineInReason: true,
	Instrument:   otlp.Instrument{Unit: "{unit}"},
	Metric:       Metric{Name: "sentinel_restarting_units", Kind: prometheus.Gauge},
	Title:        "restarting",
	Text:         restartingNames,
}

// restartingNames lists them with how often and since when; "" for none.
func restartingNames(r *Report) string {
	var names []string
	for _, u := range r.RestartingUnits[:min(maxNames, len(r.RestartingUnits))] {
		text := fmt.Sprintf("%s (%d times", u.Name, u.Restarts)
		if u.Since != "" {
			text += " since " + u.Since
		}
		names = append(names, text+")")
	}
	if r.RestartingUnitsTotal != nil && *r.RestartingUnitsTotal > len(names) {
		names = append(names, fmt.Sprintf("and %d more", *r.RestartingUnitsTotal-len(names)))
	}
	return strings.Join(names, ", ")
}

// momentText is a time as reports have it; "" where it is not known.
func momentText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
