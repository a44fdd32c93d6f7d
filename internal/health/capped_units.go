// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// CappedUnits is the key of [cappedUnits] for readers.
const CappedUnits = "capped_units"

// CappedShare is the percentage of the time that a unit must wait for the next period of its quota
// to be counted.
const CappedShare = 25

// cappedUnits are slow although the processors may be idle: their own limit (CPUQuota= of
// systemd.resource-control(5), --cpus of containers) holds them.
var cappedUnits = Figure{
	Key:          CappedUnits,
	Help:         "services, sessions and containers that spend a quarter of the time or more waiting because their processor quota is used up",
	Member:       Number,
	Default:      Threshold{Severity: "warning"},
	Code:         "CAPPED_UNITS",
	Message:      "Held back by their own processor quota.",
	Object:       func(r *Report) string { return r.readings[CappedUnits].Object },
	Instrument:   otlp.Instrument{Unit: "{unit}"},
	Metric:       Metric{Name: "sentinel_capped_units", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "capped",
	Text:         func(r *Report) string { return namesOf(r, CappedUnits) },
}
