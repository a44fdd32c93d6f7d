// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/otlp"
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
	Culprit: usersOf("cpu"),
	Metrics: func(r *Report, p *prometheus.Page) {
		t := thermalOf(r)
		gauge(p, "sentinel_temperature_celsius", "The temperature that the level rests on.", 1, t.Celsius, prometheus.Label{Name: "sensor", Value: t.Sensor})
	},
	Instruments: func(r *Report, m *otlp.Metrics) {
		t := thermalOf(r)
		double(m, otlp.Instrument{Name: "hw.temperature", Unit: "Cel", Description: "The temperature that the level rests on."}, 1, t.Celsius,
			otlp.Attribute{Key: "hw.id", Value: t.Sensor}, otlp.Attribute{Key: "hw.name", Value: t.Sensor})
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
		var worst []Reason
		for _, sign := range thermalOf(r).signs() {
			if len(worst) == 0 || sign.severity == Critical {
				worst = wrong("THERMAL_PRESSURE", sign.severity, true, sign.reason)
			}
			if sign.severity == Critical {
				break
			}
		}
		return worst
	},
	Culprit: usersOf("cpu"),
	Title:   "heat",
	Text: func(r *Report) string {
		t := thermalOf(r)
		var parts []string
		if t.PressureLevel != "" {
			parts = append(parts, "pressure "+strings.ToLower(t.PressureLevel))
		}
		for _, sign := range t.signs() {
			parts = append(parts, sign.text)
		}
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
	},
}

func thermalOf(r *Report) Thermal {
	if r.Thermal == nil {
		return Thermal{}
	}
	return *r.Thermal
}

// A sign says that the system is held back by heat.
type sign struct {
	severity     string
	reason, text string // a sentence, and a part of a line; the pressure has its part on that line anyway
}

// signs lists what is not as on a cool machine.
func (t Thermal) signs() []sign {
	var list []sign
	add := func(severity, reason, text string) {
		if severity != "" {
			list = append(list, sign{severity, reason, text})
		}
	}
	add(thermalSeverity(t.PressureLevel), fmt.Sprintf("The system is slowed down by heat: its thermal pressure is %s.", strings.ToLower(t.PressureLevel)), "")
	if level := t.WarningLevel; level != nil {
		add(warningSeverity(*level), fmt.Sprintf("The system warns of heat: its thermal warning level is %d%s.", *level, levelName(*level)), fmt.Sprintf("warning level %d", *level))
	}
	if level := t.PerformanceLevel; level != nil && *level != 0 {
		add(Warning, fmt.Sprintf("The system warns that its performance is held back: its performance warning level is %d.", *level), fmt.Sprintf("performance warning level %d", *level))
	}
	if held(t.SpeedLimit) {
		add(Warning, fmt.Sprintf("The processor is held to %d %% of its speed because of heat.", t.SpeedLimit), fmt.Sprintf("processor held to %d %% of its speed", t.SpeedLimit))
	}
	if held(t.SchedulerLimit) {
		add(Warning, fmt.Sprintf("The processor may work %d %% of the time because of heat.", t.SchedulerLimit), fmt.Sprintf("processor held to %d %% of its time", t.SchedulerLimit))
	}
	return list
}

// held says whether a limit in percent, 0 when unknown, holds something back.
func held(limit int) bool { return limit > 0 && limit < 100 }

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

// The thermal warning levels that <IOKit/pwr_mgt/IOPM.h> names. It leaves further
// ones to each model; only 0 is a machine under normal conditions.
const (
	thermalNormal   = 0
	thermalDanger   = 5
	thermalCritical = 10
	thermalWarning  = 100
	thermalTrap     = 110
)

func warningSeverity(level int) string {
	switch level {
	case thermalNormal:
		return ""
	case thermalCritical, thermalTrap:
		return Critical
	default:
		return Warning
	}
}

func levelName(level int) string {
	switch level {
	case thermalDanger:
		return " (danger: it may slow down)"
	case thermalCritical:
		return " (critical: it may shut down at once)"
	case thermalWarning:
		return " (warning)"
	case thermalTrap:
		return " (trap)"
	default:
		return ""
	}
}
