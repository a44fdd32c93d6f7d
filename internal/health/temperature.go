// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"sentinel/internal/prometheus"
)

var temperature = Figure{
	Key:     "temperature",
	Help:    "degrees Celsius of the CPU sensor",
	Value:   func(r *Report) *float64 { return thermalOf(r).Celsius },
	Default: Threshold{Level: Level{75, 88}},
	Max:     150,
	Code:    "TEMPERATURE_HIGH",
	Message: "The processor is at %.0f °C.",
	Metrics: func(r *Report, p *prometheus.Page) {
		t := thermalOf(r)
		gauge(p, "sentinel_temperature_celsius", "The temperature that the level rests on.", 1, t.Celsius, prometheus.Label{Name: "sensor", Value: t.Sensor})
	},
	Title: "temperature",
	Text: func(r *Report) string {
		if thermalOf(r).Celsius == nil {
			return ""
		}
		return fmt.Sprintf("%s °C (%s)", r.Temperature, r.Thermal.Sensor)
	},
}

// heat is what the system does because of heat, which is all that tells of it
// where there is no sensor to read.
var heat = Figure{
	Reasons: func(r *Report, _ Thresholds) []Reason {
		t := thermalOf(r)
		if severity := thermalSeverity(t.PressureLevel); severity != "" {
			return wrong("THERMAL_PRESSURE", severity, true, fmt.Sprintf("The system is slowed down by heat: its thermal pressure is %s.", strings.ToLower(t.PressureLevel)))
		}
		return wrong("THERMAL_PRESSURE", Warning, t.slowed(), fmt.Sprintf("The processor is held to %d %% of its speed because of heat.", t.SpeedLimit))
	},
	Title: "heat",
	Text: func(r *Report) string {
		t := thermalOf(r)
		var parts []string
		if t.PressureLevel != "" {
			parts = append(parts, "pressure "+strings.ToLower(t.PressureLevel))
		}
		if t.slowed() {
			parts = append(parts, fmt.Sprintf("processor held to %d %% of its speed", t.SpeedLimit))
		}
		return strings.Join(parts, ", ")
	},
}

func thermalOf(r *Report) Thermal {
	if r.Thermal == nil {
		return Thermal{}
	}
	return *r.Thermal
}

func (t Thermal) slowed() bool { return t.SpeedLimit > 0 && t.SpeedLimit < 100 }

// thermalSeverity goes by the names of OSThermalNotificationLevel in
// <libkern/OSThermalNotification.h>. Moderate is what a laptop without a fan does under work.
func thermalSeverity(level string) string {
	switch level {
	case "Heavy":
		return Warning
	case "Trapping", "Sleeping":
		return Critical
	default:
		return ""
	}
}
