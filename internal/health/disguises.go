// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strconv"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
)

// The keys of [falseDaemons] and [hiddenPrograms] for readers.
const (
	FalseDaemons   = "false_daemons"
	HiddenPrograms = "hidden_programs"
)

// falseDaemons are processes that call themselves a daemon of the system, or a thread of the kernel,
// and run something else; see [sentinel/internal/processes.Claim].
var falseDaemons = Figure{
	Key:          FalseDaemons,
	Help:         "processes that call themselves a daemon of the system or a thread of the kernel, and are not",
	Member:       Number,
	Default:      Threshold{Severity: "critical"},
	Code:         "FALSE_DAEMON",
	Message:      "Processes that are not what they call themselves.",
	Object:       func(r *Report) string { return firstPID(r, FalseDaemons) },
	Instrument:   otlp.Instrument{Unit: "{process}"},
	Metric:       Metric{Name: "sentinel_false_daemons", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "false daemons",
	Text:         func(r *Report) string { return namesOf(r, FalseDaemons) },
}

// hiddenPrograms run from memory, from folders for temporary files, or were removed without another
// one in their place, which an update leaves.
var hiddenPrograms = Figure{
	Key:          HiddenPrograms,
	Help:         "processes whose program is in memory, in a folder for temporary files or removed, and not by an update",
	Member:       Number,
	Default:      Threshold{Severity: "warning"},
	Code:         "HIDDEN_PROGRAM",
	Message:      "Processes that hide what they run.",
	Object:       func(r *Report) string { return firstPID(r, HiddenPrograms) },
	Instrument:   otlp.Instrument{Unit: "{process}"},
	Metric:       Metric{Name: "sentinel_hidden_programs", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "hidden programs",
	Text:         func(r *Report) string { return namesOf(r, HiddenPrograms) },
}

// firstPID is the process that a command about the reason is for.
func firstPID(r *Report, key string) string {
	if pids := r.readings[key].PIDs; len(pids) > 0 {
		return strconv.Itoa(pids[0])
	}
	return ""
}

// namesOf names what was counted; "" for nothing.
func namesOf(r *Report, key string) string {
	if r.readings[key].Value == 0 {
		return ""
	}
	return listed(r.readings[key].Names)
}
