// SPDX-License-Identifier: Apache-2.0

package otlp

import "time"

// A Severity is the lowest number of its range in the data model of logs.
type Severity int

// The severities.
const (
	Info  Severity = 9
	Warn  Severity = 13
	Error Severity = 17
)

func (s Severity) text() string {
	return map[Severity]string{Info: "INFO", Warn: "WARN", Error: "ERROR"}[s]
}

// An Event is a log record with a name.
type Event struct {
	Name       string
	At         time.Time // when it happened; zero is when it was seen
	Severity   Severity
	Text       string // a sentence
	Attributes []Attribute
}

// Logs are events.
type Logs struct {
	Observed time.Time // when they were seen
	Events   []Event
}

type logRecord struct {
	At         string     `json:"timeUnixNano"`
	Observed   string     `json:"observedTimeUnixNano"`
	Severity   Severity   `json:"severityNumber"`
	Text       string     `json:"severityText"`
	Name       string     `json:"eventName"`
	Body       anyValue   `json:"body"`
	Attributes []keyValue `json:"attributes"`
}

type resourceLogs struct {
	Resource resource    `json:"resource"`
	Scopes   []scopeLogs `json:"scopeLogs"`
	Schema   string      `json:"schemaUrl"`
}

type scopeLogs struct {
	Scope   scope       `json:"scope"`
	Records []logRecord `json:"logRecords"`
	Schema  string      `json:"schemaUrl"`
}

// Body returns an ExportLogsServiceRequest.
func (l Logs) Body(r Resource) ([]byte, error) {
	records := []logRecord{}
	for _, e := range l.Events {
		if e.At.IsZero() {
			e.At = l.Observed
		}
		records = append(records, logRecord{
			nanoseconds(e.At), nanoseconds(l.Observed), e.Severity, e.Severity.text(), e.Name, anyValue{String: &e.Text}, keyValues(e.Attributes),
		})
	}
	return encode(struct {
		List []resourceLogs `json:"resourceLogs"`
	}{[]resourceLogs{{r.resource(), []scopeLogs{{r.scope(), records, SchemaURL}}, SchemaURL}}})
}
