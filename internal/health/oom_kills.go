// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
	"sentinel/internal/sanitize"
)

var oomKills = Figure{
	Key:     "oom_kills",
	Help:    "processes killed for want of memory in the last 24 hours",
	Value:   func(r *Report) *float64 { return number(r.OOMKillsLastDay) },
	Default: Threshold{Level: Level{1, 10}},
	Max:     maxCount,
	Reasons: func(r *Report, t Thresholds) []Reason {
		count := r.OOMKillsLastDay
		if count == nil {
			return nil
		}
		message := fmt.Sprintf("Processes killed for want of memory in the last 24 hours: %d", *count)
		var killed []string
		for _, e := range r.OOMEvents {
			killed = append(killed, e.text())
		}
		if len(killed) > 0 {
			message += " (" + strings.Join(killed, ", ") + ")"
		}
		return reach("OOM_KILLS", t["oom_kills"].Level, float64(*count), message+".")
	},
	Instrument: otlp.Instrument{Unit: "{process}"},
	Metrics: func(r *Report, p *prometheus.Page) {
		if r.OOMKills != nil {
			p.Add("sentinel_oom_kills_total", "Processes that the kernel killed for want of memory, since boot.", prometheus.Counter, float64(*r.OOMKills))
		}
	},
}

// text names a process, its unit and user, and when it was killed, where that is known.
func (e OOMEvent) text() string {
	text := OOMKill{Process: e.Process, Unit: e.Unit, User: e.User}.Text()
	if e.Time != "" {
		text += " at " + e.Time
	}
	return text
}

// Text names the process, in quotation marks because its user has chosen that name, its unit and its user.
func (k OOMKill) Text() string {
	text := sanitize.Quoted(k.Process, 64)
	if k.Unit != "" {
		text += " of " + k.Unit
	}
	if k.User != "" {
		text += " (user " + k.User + ")"
	}
	return text
}
