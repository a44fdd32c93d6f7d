// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

var failedUnits = Figure{
	Key:     "failed_units",
	Help:    "units of the service manager in state failed",
	Value:   func(r *Report) *float64 { return number(r.FailedUnitsTotal) },
	Default: Threshold{Level: Level{1, 10}},
	Max:     maxCount,
	Code:    "FAILED_UNITS",
	Message: "Failed units: %.0f.",
	Culprit: unitNames,
	Object: func(r *Report) string {
		if len(r.FailedUnits) == 0 {
			return ""
		}
		return r.FailedUnits[0].Name
	},
	LineInReason: true,
	Instrument:   otlp.Instrument{Unit: "{unit}"},
	Metric:       Metric{Name: "sentinel_failed_units", Kind: prometheus.Gauge},
	Title:        "failed units",
	Text: func(r *Report) string {
		switch {
		case r.FailedUnitsTotal == nil:
			return ""
		case *r.FailedUnitsTotal == 0:
			return "none"
		}
		return unitNames(r)
	},
}

// unitNames lists the units that failed.
func unitNames(r *Report) string {
	var names []string
	more := *r.FailedUnitsTotal
	for _, u := range r.FailedUnits[:min(maxNames, len(r.FailedUnits))] {
		name := u.Name
		if u.Instances > 1 {
			name += fmt.Sprintf(" (%d instances)", u.Instances)
		}
		names = append(names, name)
		more -= max(1, u.Instances)
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
