// SPDX-License-Identifier: Apache-2.0

// Package prometheus writes metrics in the text format of Prometheus, version
// 0.0.4, for its servers and for the textfile collector of node_exporter.
package prometheus

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Kind is the type of a metric.
type Kind string

// The kinds.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter" // its name ends with _total
)

// A Label is one label of a sample. Its value may be any text; invalid UTF-8 is
// replaced.
type Label struct{ Name, Value string }

// A Page collects metrics in the order in which they are first added.
type Page struct {
	order   []string
	metrics map[string]*metric
}

type metric struct {
	help    string
	kind    Kind
	samples []string
	seen    map[string]bool
}

// Add adds a sample. The first sample of a name decides help and kind of the
// metric. Labels without a value are left out. A second sample with the same labels
// is dropped: duplicates would make the whole page invalid.
func (p *Page) Add(name, help string, kind Kind, value float64, labels ...Label) {
	if p.metrics == nil {
		p.metrics = map[string]*metric{}
	}
	m, ok := p.metrics[name]
	if !ok {
		m = &metric{help: help, kind: kind, seen: map[string]bool{}}
		p.metrics[name] = m
		p.order = append(p.order, name)
	}
	set := labelSet(labels)
	if m.seen[set] {
		return
	}
	m.seen[set] = true
	m.samples = append(m.samples, name+set+" "+number(value))
}

// StateSet adds a gauge with one sample for each possible state: 1 for the current
// one, 0 for the others.
func (p *Page) StateSet(name, help, label, is string, all ...string) {
	for _, one := range all {
		value := 0.0
		if one == is {
			value = 1
		}
		p.Add(name, help, Gauge, value, Label{label, one})
	}
}

func labelSet(labels []Label) string {
	labels = slices.DeleteFunc(slices.Clone(labels), func(l Label) bool { return l.Value == "" })
	if len(labels) == 0 {
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	var parts []string
	for _, l := range labels {
		parts = append(parts, l.Name+`="`+escape.Replace(strings.ToValidUTF8(l.Value, "\uFFFD"))+`"`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Bytes returns the page.
func (p *Page) Bytes() []byte {
	var b bytes.Buffer
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	for _, name := range p.order {
		m := p.metrics[name]
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, escape.Replace(m.help), name, m.kind)
		for _, s := range m.samples {
			b.WriteString(s + "\n")
		}
	}
	return b.Bytes()
}
