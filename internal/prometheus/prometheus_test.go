// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// parsed parses a page with Prometheus's own parser.
func parsed(t testing.TB, page []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("%v\n%s", err, page)
	}
	return families
}

func TestPage(t *testing.T) {
	var p Page
	p.Add("disk_bytes", "Size.", Gauge, 3, Label{"mountpoint", "/"}, Label{"device", ""})
	p.Add("kills_total", "Two\nlines \\.", Counter, 7)
	p.Add("disk_bytes", "not said again", Gauge, 4e18, Label{"mountpoint", "/a \"b\"\\\nc"})
	p.Add("disk_bytes", "", Gauge, 9, Label{"mountpoint", "/"})
	const want = `# HELP disk_bytes Size.
# TYPE disk_bytes gauge
disk_bytes{mountpoint="/"} 3
disk_bytes{mountpoint="/a \"b\"\\\nc"} 4e+18
# HELP kills_total Two\nlines \\.
# TYPE kills_total counter
kills_total 7
`
	if got := string(p.Bytes()); got != want {
		t.Errorf("page:\n%s\nwant:\n%s", got, want)
	}
	families := parsed(t, p.Bytes())
	if got := families["disk_bytes"].GetMetric()[1].GetLabel()[0].GetValue(); got != "/a \"b\"\\\nc" {
		t.Errorf("label %q", got)
	}
	if families["kills_total"].GetType() != dto.MetricType_COUNTER || families["kills_total"].GetMetric()[0].GetCounter().GetValue() != 7 {
		t.Errorf("counter %v", families["kills_total"])
	}
}

func TestNumbers(t *testing.T) {
	var p Page
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.1, 1 << 53} {
		p.Add("n", "N.", Gauge, v, Label{"i", string(rune('a' + i))})
	}
	for i, m := range parsed(t, p.Bytes())["n"].GetMetric() {
		got := m.GetGauge().GetValue()
		ok := []bool{math.IsNaN(got), math.IsInf(got, 1), math.IsInf(got, -1), got == 0.1, got == 1<<53}
		if !ok[i] {
			t.Errorf("number %d became %v", i, got)
		}
	}
}

func TestEmptyPage(t *testing.T) {
	var p Page
	if len(p.Bytes()) != 0 {
		t.Errorf("%q", p.Bytes())
	}
}

// Any label survives a round trip, apart from invalid UTF-8, which is replaced.
func FuzzLabel(f *testing.F) {
	f.Add("plain", `"\`+"\n")
	f.Fuzz(func(t *testing.T, one, other string) {
		var p Page
		p.Add("m", one, Gauge, 1, Label{"a", one}, Label{"b", other})
		labels := parsed(t, p.Bytes())["m"].GetMetric()[0].GetLabel()
		got := map[string]string{}
		for _, l := range labels {
			got[l.GetName()] = l.GetValue()
		}
		for name, value := range map[string]string{"a": one, "b": other} {
			if want := strings.ToValidUTF8(value, "\uFFFD"); got[name] != want || !utf8.ValidString(got[name]) {
				t.Errorf("label %s: %q, want %q", name, got[name], want)
			}
		}
	})
}
