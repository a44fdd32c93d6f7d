// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"strings"

	"sentinel/internal/otlp"
)

// Observe writes all figures as an OpenTelemetry Collector gets them. What is unknown is left out.
func (r *Report) Observe(m *otlp.Metrics) {
	for _, f := range metered() {
		f.observe(r, m)
	}
}

func (f *Figure) observe(r *Report, m *otlp.Metrics) {
	if f.Instruments != nil {
		f.Instruments(r, m)
		return
	}
	value, i := f.value(r), f.InstrumentOf()
	switch {
	case value == nil || i.Name == "":
	case strings.HasPrefix(i.Unit, "{"):
		m.Int(i, uint64(*value))
	case f.Unit == "%":
		m.Double(i, round(*value/100, 4))
	default:
		m.Double(i, *value)
	}
}

// InstrumentOf returns the one instrument of f, complete; it has no name if f has several, or none.
func (f *Figure) InstrumentOf() otlp.Instrument {
	if f.Instruments != nil {
		return otlp.Instrument{}
	}
	i := f.Instrument
	if i.Name == "" && f.Key != "" {
		i.Name = "sentinel." + f.Key
	}
	if i.Unit == "" {
		i.Unit = map[string]string{"s": "s"}[f.Unit]
	}
	if i.Description = cmp.Or(i.Description, f.Metric.Help); i.Description == "" && f.Help != "" {
		i.Description = sentence(strings.Replace(f.Help, "percent", "share", 1)) // see observe
	}
	i.Unit = cmp.Or(i.Unit, "1")
	return i
}

// double writes a value that may be unknown.
func double(m *otlp.Metrics, i otlp.Instrument, scale float64, value *float64, attributes ...otlp.Attribute) {
	if value != nil {
		m.Double(i, round(*value*scale, 4), attributes...)
	}
}
