// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Kind is what the values of an instrument mean.
type Kind int

// The kinds.
const (
	Gauge   Kind = iota
	UpDown       // an amount, which can be added up over attributes
	Counter      // grows from Metrics.Since on
)

// An Instrument is a metric, by the semantic conventions where they have it.
type Instrument struct {
	Name        string
	Unit        string // by UCUM: "1" for shares, "By", "s", "{process}"
	Description string // a sentence
	Kind        Kind
}

// Metrics collects values in the order in which their instruments are first used.
type Metrics struct {
	At      time.Time // when the values were read
	Since   time.Time // from when counters count; zero is unknown
	metrics []*metric
	seen    map[string]bool
}

// Double adds a value. One that is no number is unknown and is left out; so is a second one with the
// same attributes.
func (m *Metrics) Double(i Instrument, value float64, attributes ...Attribute) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		m.add(i, dataPoint{Double: &value}, attributes)
	}
}

// Int is [Metrics.Double] for counts and sizes.
func (m *Metrics) Int(i Instrument, value uint64, attributes ...Attribute) {
	text := strconv.FormatUint(min(value, math.MaxInt64), 10)
	m.add(i, dataPoint{Int: &text}, attributes)
}

func (m *Metrics) add(i Instrument, p dataPoint, attributes []Attribute) {
	p.Attributes, p.At = keyValues(attributes), nanoseconds(m.At)
	if i.Kind == Counter {
		p.Since = nanoseconds(m.Since)
	}
	key := fmt.Sprint(i.Name, attributes)
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	if !m.seen[key] {
		m.seen[key] = true
		to := m.metric(i).points()
		*to = append(*to, p)
	}
}

// metric returns the one that i writes to.
func (m *Metrics) metric(i Instrument) *metric {
	for _, known := range m.metrics {
		if known.Name == i.Name {
			return known
		}
	}
	made := &metric{Name: i.Name, Description: i.Description, Unit: i.Unit}
	if i.Kind == Gauge {
		made.Gauge = &gauge{}
	} else {
		made.Sum = &sum{Temporality: cumulative, Monotonic: i.Kind == Counter}
	}
	m.metrics = append(m.metrics, made)
	return made
}

type metric struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Unit        string `json:"unit"`
	Gauge       *gauge `json:"gauge,omitempty"`
	Sum         *sum   `json:"sum,omitempty"`
}

func (m *metric) points() *[]dataPoint {
	if m.Gauge != nil {
		return &m.Gauge.Points
	}
	return &m.Sum.Points
}

type gauge struct {
	Points []dataPoint `json:"dataPoints"`
}

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

type sum struct {
	Points      []dataPoint `json:"dataPoints"`
	Temporality int         `json:"aggregationTemporality"`
	Monotonic   bool        `json:"isMonotonic"`
}

type dataPoint struct {
	Attributes []keyValue `json:"attributes,omitempty"`
	Since      string     `json:"startTimeUnixNano,omitempty"`
	At         string     `json:"timeUnixNano"`
	Int        *string    `json:"asInt,omitempty"`
	Double     *float64   `json:"asDouble,omitempty"`
}

type resourceMetrics struct {
	Resource resource       `json:"resource"`
	Scopes   []scopeMetrics `json:"scopeMetrics"`
	Schema   string         `json:"schemaUrl"`
}

type scopeMetrics struct {
	Scope   scope     `json:"scope"`
	Metrics []*metric `json:"metrics"`
	Schema  string    `json:"schemaUrl"`
}

// Body returns an ExportMetricsServiceRequest.
func (m *Metrics) Body(r Resource) ([]byte, error) {
	return encode(struct {
		List []resourceMetrics `json:"resourceMetrics"`
	}{[]resourceMetrics{{r.resource(), []scopeMetrics{{r.scope(), append([]*metric{}, m.metrics...), SchemaURL}}, SchemaURL}}})
}
