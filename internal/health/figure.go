// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/otlp"
	"sentinel/internal/prometheus"
	"sentinel/internal/sanitize"
)

// A Figure is one value that tells how a machine is doing, with all that is said
// of it anywhere: in the report, its verdict and its schema, in the configuration and its
// documentation, on the page of Prometheus and on the one for people. Each is in a file of its own
// and has a line in [All].
type Figure struct {
	// Key names the threshold in the configuration and, with a Member, the value in
	// the report.
	Key string
	// Help says what the value is, with its unit, in a line without a full stop.
	Help string

	// Member says that the report has the value in its member figures. The platform
	// reads it with [Sources].Figures; nil readers leave it out. Values without have a place of
	// their own in the report, and Value.
	Member Member
	// Value finds the value in the report; nil is unknown.
	Value func(*Report) *float64
	// Parts finds the values where there are several, each with its Part.
	Parts func(*Report) []Measurement
	// Unit is that of the value: "%", "s", or "" for anything else.
	Unit string

	// Default is when the value is a reason for a threat level; zero is never.
	Default Threshold
	// Most is the highest bound that the configuration may set: one that no value
	// can reach would switch the reason off in silence.
	Max float64
	// Code and Message are those of the reason; the message formats the value.
	Code, Message string
	// Reasons replaces all this where more than one number decides.
	Reasons func(*Report, Thresholds) []Reason

	// Culprit names what is behind a reason; nil where that is not known.
	Culprit func(*Report) string
	// Object is what a command about a reason needs; nil is nothing.
	Object func(*Report) string

	Metric Metric
	// Metrics replaces Metric where there are several, or labels.
	Metrics func(*Report, *prometheus.Page)

	// Instrument is what an OpenTelemetry Collector gets of the value. What the semantic
	// conventions have no name for has that of the key, below "sentinel.".
	Instrument otlp.Instrument
	// Instruments replaces Instrument where there are several, or attributes.
	Instruments func(*Report, *otlp.Metrics)

	// Title begins the line of the page for people; "" is none.
	Title string
	// Text is the rest of that line; "" leaves it out.
	Text func(*Report) string
	// LineInReason says that a reason has all that the line says, which is then left
	// out.
	LineInReason bool
}

// A Member is the form of a value in the member figures.
type Member int

// The forms.
const (
	NoMember Member = iota
	Number
	Bool // true when something is wrong, which is a Value above 0
)

// A Metric is what Prometheus gets of a value.
type Metric struct {
	Name string
	Help string // a sentence; "" is made of the figure's
	Kind prometheus.Kind
	// Scale is what the value is multiplied with: percents become shares.
	Scale float64
}

// A Threshold is when a value is a reason: Level for numbers, Severity for what
// is only on or off.
type Threshold struct {
	Level
	// Severity of what is wrong: none, warning or critical.
	Severity string
}

// A Level is a pair of bounds: a value at or above Warning, or at or above
// Critical, is a reason of that severity.
type Level struct {
	Warning  float64 `yaml:"warning"`
	Critical float64 `yaml:"critical"`
}

// Thresholds are those of all figures that have one, by key.
type Thresholds map[string]Threshold

// DefaultThresholds are those that hold without a configuration.
func DefaultThresholds() Thresholds {
	t := Thresholds{}
	for _, f := range Configurable() {
		t[f.Key] = f.Default
	}
	return t
}

// A Reading is the value of a figure with a Member.
type Reading struct {
	Value float64
	Names []string // of what was counted, where that helps
	PIDs  []int    // of what is named, where it is processes
	// Object is what a command about a reason needs; "" is nothing.
	Object string
	// Proven is how much of Value nobody but root can have written; nil is all. The rest is at most a warning.
	Proven *float64
	// More says why Value may be more; nil where it is not.
	More error
}

// OrMore is a reading of what was found where not all could be looked at, because of err; nil is that all was.
// Nothing found is nothing known then.
func (r Reading) OrMore(err error) (Reading, error) {
	if r.Value > 0 {
		r.More, err = err, nil
	}
	return r, err
}

// A Reader reads one.
type Reader func(context.Context) (Reading, error)

// Meaning says what the threshold of f is about.
func (f *Figure) Meaning() string {
	if f.Default.Severity == "" {
		return f.Help
	}
	return "severity of " + f.Help + ": `none`, `warning` or `critical`"
}

// value returns the value of f, or nil when it is unknown.
func (f *Figure) value(r *Report) *float64 {
	if f.Value != nil {
		return f.Value(r)
	}
	if reading, known := r.readings[f.Key]; known {
		return &reading.Value
	}
	return nil
}

// reasons judges one figure. A value that is unknown is no reason.
func (f *Figure) reasons(r *Report, t Thresholds) []Reason {
	if f.Reasons != nil {
		return f.Reasons(r, t)
	}
	value := f.value(r)
	switch {
	case value == nil || f.Code == "":
		return nil
	case f.Default.Severity != "":
		return wrong(f.Code, t[f.Key].Severity, *value > 0, f.message(r, *value))
	default:
		return proven(r.readings[f.Key].Proven, t[f.Key].Level, reach(f.Code, t[f.Key].Level, *value, f.message(r, *value)))
	}
}

// proven makes a warning of what is critical only by what anybody can have written.
func proven(part *float64, level Level, reasons []Reason) []Reason {
	for i := range reasons {
		if part != nil && *part < level.Critical {
			reasons[i].Severity, reasons[i].Threshold = Warning, &level.Warning
		}
	}
	return reasons
}

// maxNames is how many names a message has, and maxName bounds each, in characters: the name of a process, what it
// calls itself and its program have room.
const (
	maxNames = 5
	maxName  = 160
)

func (f *Figure) message(r *Report, value float64) string {
	message := f.Message
	if strings.Contains(message, "%") {
		message = fmt.Sprintf(message, value)
	}
	names := r.readings[f.Key].Names
	if len(names) == 0 {
		return message
	}
	return strings.TrimSuffix(message, ".") + ": " + listed(names) + "."
}

// listed shows the first names.
func listed(names []string) string {
	var shown []string
	for _, name := range names[:min(maxNames, len(names))] {
		name = sanitize.Text(name, maxName)
		if strings.Count(name, `"`)%2 == 1 { // cut within quotes
			name += `"`
		}
		shown = append(shown, name)
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// reach is a reason when value is at a bound of level or above.
func reach(code string, level Level, value float64, message string) []Reason {
	reason := Reason{Code: code, Severity: Warning, Message: message, Value: &value, Threshold: &level.Warning}
	switch {
	case value >= level.Critical:
		reason.Severity, reason.Threshold = Critical, &level.Critical
	case value < level.Warning:
		return nil
	}
	return []Reason{reason}
}

// maxCulprit bounds what is behind a reason, in characters.
const maxCulprit = 120

// usersOf are the processes behind the use of resources.
func usersOf(resources ...string) func(*Report) string {
	return func(r *Report) string {
		var found []string
		for _, resource := range resources {
			if r.Behind == nil {
				break
			}
			if users := r.Behind(resource); users != "" {
				found = append(found, users)
			}
		}
		return strings.Join(found, "; ")
	}
}

// wrong is a reason of the severity that the configuration gives to something
// that is only on or off.
func wrong(code, severity string, is bool, message string) []Reason {
	if !is || severity == "none" || severity == "" {
		return nil
	}
	return []Reason{{Code: code, Severity: strings.ToUpper(severity), Message: message}}
}

// meter writes the metrics of f. What is unknown has none.
func (f *Figure) meter(r *Report, p *prometheus.Page) {
	if f.Metrics != nil {
		f.Metrics(r, p)
		return
	}
	value := f.value(r)
	if value == nil || f.Metric.Name == "" {
		return
	}
	m := f.Metric
	if m.Help == "" {
		m.Help = sentence(f.Help)
	}
	if m.Scale == 0 {
		m.Scale = 1
	}
	p.Add(m.Name, m.Help, m.Kind, *value*m.Scale)
}

// sentence begins text with a capital and ends it with a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// line is the line of f on the page for people.
func (f *Figure) line(r *Report) string {
	said := func(reason Reason) bool { return f.LineInReason && reason.Code == f.Code }
	if f.Title == "" || slices.ContainsFunc(r.ThreatReasons, said) {
		return ""
	}
	return f.Text(r)
}

// Judge sets the threat level and its reasons.
func (r *Report) Judge(t Thresholds) {
	r.ThreatReasons, r.ThreatLevel = []Reason{}, Low
	for _, f := range All() {
		for _, reason := range f.reasons(r, t) {
			if f.Culprit != nil {
				reason.Culprit = sanitize.Text(f.Culprit(r), maxCulprit)
			}
			if f.Object != nil {
				reason.Object = f.Object(r)
			}
			r.ThreatReasons = append(r.ThreatReasons, reason)
		}
	}
	for _, reason := range r.ThreatReasons {
		if r.ThreatLevel == Low || reason.Severity == Critical {
			r.ThreatLevel = reason.Severity
		}
	}
}

// Meter writes the metrics of all figures.
func (r *Report) Meter(p *prometheus.Page) {
	for _, f := range metered() {
		f.meter(r, p)
	}
}

// Lines are those of the page for people, each a title and a text. A value that
// is unknown has no line, since it is listed as a gap.
func (r *Report) Lines() [][]string {
	var lines [][]string
	for _, f := range shown() {
		if text := f.line(r); text != "" {
			lines = append(lines, []string{f.Title, text})
		}
	}
	return lines
}

// Values is the member figures of a report: numbers, and true or false, by key.
type Values map[string]any

func newValues(readings map[string]Reading) Values {
	values := Values{}
	for _, f := range All() {
		reading, known := readings[f.Key]
		switch {
		case !known:
		case f.Member == Bool:
			values[f.Key] = reading.Value > 0
		default:
			values[f.Key] = reading.Value
		}
	}
	return values
}

// JSONSchema describes each value by its help.
func (Values) JSONSchema() map[string]any {
	properties := map[string]any{}
	for _, f := range All() {
		if f.Member != NoMember {
			kind := map[Member]string{Number: "number", Bool: "boolean"}[f.Member]
			properties[f.Key] = map[string]any{"type": kind, "description": f.Help}
		}
	}
	return map[string]any{"type": "object", "properties": properties}
}
