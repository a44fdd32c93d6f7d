// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"math"
	"strings"
	"testing"
	"time"
)

var (
	at   = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	host = Resource{Attributes: []Attribute{{"host.name", "web1"}, {"host.id", ""}}, Scope: "sentinel", Version: "1.2"}
)

func body(t *testing.T, f func(Resource) ([]byte, error)) string {
	t.Helper()
	raw, err := f(host)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// By the JSON encoding of Protocol Buffers as OTLP has it: 64-bit integers are strings, enumerations are
// numbers, and a 0 stands there.
func TestMetricsAreEncodedAsOTLPHasThem(t *testing.T) {
	m := Metrics{At: at, Since: at.Add(-time.Minute)}
	m.Double(Instrument{Name: "a.share", Unit: "1", Description: "A <share>."}, 0)
	m.Int(Instrument{Name: "b.size", Unit: "By", Kind: UpDown}, 1<<53+1, Attribute{"state", "used"}, Attribute{"device", ""})
	m.Int(Instrument{Name: "b.size", Unit: "By", Kind: UpDown}, 3, Attribute{"state", "free"})
	m.Int(Instrument{Name: "c.count", Unit: "{c}", Kind: Counter}, math.MaxUint64)
	const (
		resource = `"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"web1"}}]}`
		schema   = `"schemaUrl":"https://opentelemetry.io/schemas/1.43.0"`
		want     = `{"resourceMetrics":[{` + resource + `,"scopeMetrics":[{"scope":{"name":"sentinel","version":"1.2"},"metrics":[` +
			`{"name":"a.share","description":"A <share>.","unit":"1","gauge":{"dataPoints":[{"timeUnixNano":"1772366400000000005","asDouble":0}]}},` +
			`{"name":"b.size","unit":"By","sum":{"dataPoints":[` +
			`{"attributes":[{"key":"state","value":{"stringValue":"used"}}],"timeUnixNano":"1772366400000000005","asInt":"9007199254740993"},` +
			`{"attributes":[{"key":"state","value":{"stringValue":"free"}}],"timeUnixNano":"1772366400000000005","asInt":"3"}],"aggregationTemporality":2,"isMonotonic":false}},` +
			`{"name":"c.count","unit":"{c}","sum":{"dataPoints":[{"startTimeUnixNano":"1772366340000000005","timeUnixNano":"1772366400000000005","asInt":"9223372036854775807"}],"aggregationTemporality":2,"isMonotonic":true}}` +
			`],` + schema + `}],` + schema + `}]}`
	)
	if got := body(t, m.Body); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

func TestWhatIsNoNumberAndWhatIsThereAreLeftOut(t *testing.T) {
	var m Metrics
	gauge := Instrument{Name: "x", Unit: "1"}
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		m.Double(gauge, value)
	}
	if got := body(t, m.Body); !strings.Contains(got, `"metrics":[]`) {
		t.Errorf("%s", got)
	}
	m.Double(gauge, 1, Attribute{"a", "b"})
	m.Double(gauge, 2, Attribute{"a", "b"})
	m.Double(gauge, 3, Attribute{"a", "c"})
	if got := body(t, m.Body); strings.Count(got, "asDouble") != 2 || strings.Contains(got, `"asDouble":2`) {
		t.Errorf("%s", got)
	}
}

func TestEventsAreLogRecordsWithANameAndASeverity(t *testing.T) {
	l := Logs{Observed: at, Events: []Event{
		{Name: "sentinel.x", Severity: Warn, Text: "It \x00\xff is.", Attributes: []Attribute{{"s", "t"}, {"b", true}, {"i", 7}, {"f", 0.5}, {"l", []string{"a", "b"}}, {"none", ""}}},
		{Name: "sentinel.y", At: at.Add(-time.Second), Severity: Error, Text: "Then."},
	}}
	got := body(t, l.Body)
	for _, want := range []string{
		`"logRecords":[{"timeUnixNano":"1772366400000000005","observedTimeUnixNano":"1772366400000000005","severityNumber":13,"severityText":"WARN","eventName":"sentinel.x","body":{"stringValue":"It \u0000\ufffd is."},"attributes":[`,
		`{"key":"s","value":{"stringValue":"t"}},{"key":"b","value":{"boolValue":true}},{"key":"i","value":{"intValue":"7"}},{"key":"f","value":{"doubleValue":0.5}},{"key":"l","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}}]`,
		`{"timeUnixNano":"1772366399000000005","observedTimeUnixNano":"1772366400000000005","severityNumber":17,"severityText":"ERROR","eventName":"sentinel.y","body":{"stringValue":"Then."},"attributes":[]}]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nis not in\n%s", want, got)
		}
	}
}

func TestWhatACollectorDidNotTakeIsTold(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                    "",
		``:                      "",
		`null`:                  "",
		`<html>`:                "",
		`[1]`:                   "",
		`{"partialSuccess":{}}`: "",
		`{"partialSuccess":{"rejectedDataPoints":"0"}}`:                                   "",
		`{"partialSuccess":{"rejectedDataPoints":0}}`:                                     "",
		`{"partialSuccess":{"rejectedDataPoints":null,"rejectedLogRecords":""}}`:          "",
		`{"partialSuccess":{"rejectedDataPoints":"-3"}}`:                                  "it rejected data points (by its answer -3)",
		`{"partialSuccess":{"rejectedLogRecords":-3,"errorMessage":"x"}}`:                 `it rejected log records (by its answer -3): "x"`,
		`{"partialSuccess":{"rejectedDataPoints":"many","errorMessage":"x"}}`:             `it rejected data points (by its answer many): "x"`,
		`{"partialSuccess":{"rejectedDataPoints":"99999999999999999999999"}}`:             "it rejected data points (by its answer 99999999999999999999999)",
		`{"partialSuccess":{"rejectedDataPoints":9223372036854775807}}`:                   "it rejected data points (by its answer 9223372036854775807)",
		`{"partialSuccess":{"rejectedDataPoints":1e400}}`:                                 "it rejected data points (by its answer 1e400)",
		`{"partialSuccess":{"rejectedDataPoints":2e1}}`:                                   "it rejected data points (20)",
		`{"partialSuccess":{"rejectedDataPoints":"7.0"}}`:                                 "it rejected data points (7)",
		`{"partialSuccess":{"rejectedDataPoints":"token=hunter2hunter2hunter2"}}`:         "it rejected data points (by its answer token=[redacted])",
		`{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}`:          `it rejected data points (3): "too old"`,
		`{"partialSuccess":{"rejectedDataPoints":3}}`:                                     "it rejected data points (3)",
		`{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"no"}}`:               `it rejected log records (2): "no"`,
		`{"partialSuccess":{"errorMessage":"old client"}}`:                                `it took all, with a warning: "old client"`,
		`{"partialSuccess":{"errorMessage":"\u001b[31m\u202etoken=hunter2hunter2"}}`:      `it took all, with a warning: "` + "\uFFFD[31m\uFFFD" + `token=[redacted]"`,
		`{"partialSuccess":{"errorMessage":"` + strings.Repeat("lazy dog ", 1000) + `"}}`: `it took all, with a warning: "` + strings.Repeat("lazy dog ", 22) + "l…" + `"`,
	} {
		if got := Partial([]byte(raw)); got != want {
			t.Errorf("%.90s\n got %q\nwant %q", raw, got, want)
		}
	}
}

func FuzzPartial(f *testing.F) {
	f.Add([]byte(`{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got := Partial(raw); len([]rune(got)) > 6*maxMessage || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%q", got)
		}
	})
}
