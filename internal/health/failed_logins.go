// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// FailedLogins is the key of [failedLogins] for readers.
const FailedLogins = "failed_logins"

// failedLogins are a few an hour where people mistype, and tens to thousands where somebody guesses.
// Guessing that goes on for weeks with no success is the lot of every server on the internet, so it
// takes one every few seconds to be critical.
var failedLogins = Figure{
	Key:          FailedLogins,
	Help:         "logins that failed in the last hour, at most about 1,000",
	Member:       Number,
	Default:      Threshold{Level: Level{20, 1000}},
	Max:          maxCount,
	Code:         "LOGIN_GUESSING",
	Message:      "Logins that failed in the last hour: %.0f.",
	Instrument:   otlp.Instrument{Unit: "{login}"},
	Metric:       Metric{Name: "sentinel_failed_logins_last_hour", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "failed logins",
	Text: func(r *Report) string {
		if n := r.readings[FailedLogins].Value; n > 0 {
			return fmt.Sprintf("%.0f in the last hour", n)
		}
		return ""
	},
}
