// SPDX-License-Identifier: Apache-2.0

// Package nagios writes the line that a monitoring plugin prints, as the Monitoring Plugins
// Development Guidelines have it: Nagios, Icinga, Naemon, Checkmk and Zabbix read it.
package nagios

import (
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/sanitize"
)

// A Status is the exit status of a plugin.
type Status int

// The statuses.
const (
	OK Status = iota
	Warning
	Critical
	Unknown
)

// String returns the word of the status.
func (s Status) String() string {
	return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s]
}

// A Result is what a plugin found.
type Result struct {
	Service string // what was checked, in a word
	Status  Status
	Text    string // a sentence or two
	Perf    []Perf
}

// A Perf is one number of the performance data.
type Perf struct {
	Label string
	Value float64
	Unit  string // "%", "s", "B", or "" for a number of things
	// Warning and Critical are the thresholds above which the number is one; nil is none.
	Warning, Critical *float64
}

// Bounds of the line: a plugin's output may be cut at 4 KiB (NRPE), and the text comes first.
const (
	maxText  = 600 // runes
	maxLabel = 60  // runes
	maxPerf  = 40
)

// Line returns the line, which has no second one: "SENTINEL HEALTH OK - text | performance
// data".
func (r Result) Line() string {
	name := strings.ToUpper(strings.TrimSpace("sentinel " + r.Service))
	words := []string{name, r.Status.String(), "-", plain(r.Text, maxText)}
	if len(r.Perf) > 0 {
		words = append(words, "|")
	}
	for _, p := range r.Perf[:min(len(r.Perf), maxPerf)] {
		words = append(words, p.String())
	}
	return strings.Join(words, " ") + "\n"
}

// plain keeps a bar out of the text, behind which readers expect performance data.
func plain(text string, most int) string {
	return strings.ReplaceAll(sanitize.Text(text, most), "|", "/")
}

// String is 'label'=value[unit];[warning];[critical];[minimum];[maximum].
func (p Perf) String() string {
	maximum := ""
	if p.Unit == "%" {
		maximum = "100"
	}
	return fmt.Sprintf("%s=%s%s;%s;%s;0;%s", p.label(), number(p.Value), p.Unit, bound(p.Warning), bound(p.Critical), maximum)
}

// label is quoted where it has blanks. What would end it early is replaced.
func (p Perf) label() string {
	label := strings.NewReplacer("'", "_", "=", "_").Replace(plain(p.Label, maxLabel))
	if strings.ContainsAny(label, " \t") {
		return "'" + label + "'"
	}
	return label
}

func bound(value *float64) string {
	if value == nil {
		return ""
	}
	return number(*value)
}

// number has no exponent, which readers of performance data do not take.
func number(value float64) string {
	text := strconv.FormatFloat(value, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
