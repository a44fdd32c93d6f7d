// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/health"
)

const (
	metricsPage = "docs/metrics.md"
	rulesFile   = "packaging/prometheus/sentinel.rules.yml"
)

var metric = regexp.MustCompile(`\bsentinel_[a-z0-9_]+\b`)

// emitted are the metrics that the code writes.
func emitted(t *testing.T) map[string]bool {
	t.Helper()
	literal := regexp.MustCompile(`"(sentinel_[a-z0-9_]+)"`)
	found := map[string]bool{}
	for _, dir := range []string{"internal/cli", "internal/health"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range literal.FindAllStringSubmatch(read(t, file), -1) {
				found[m[1]] = true
			}
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d metrics were found in the code", len(found))
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestEveryMetricIsOnItsPage(t *testing.T) {
	said := map[string]bool{}
	for _, name := range metric.FindAllString(read(t, filepath.Join(root, metricsPage)), -1) {
		said[name] = true
	}
	known := emitted(t)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !said[name] {
			t.Errorf("%s does not have %s", metricsPage, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !known[name] {
			t.Errorf("%s has %s, which the code does not write", metricsPage, name)
		}
	}
}

// instrument is a name of OpenTelemetry that is a metric's.
var instrument = regexp.MustCompile("(?m)^\\| (`[a-z]+\\.[^|]*)")

// What a Collector gets is what the page says: the names that stand in the code, and those that are made of
// the keys of figures.
func TestEveryInstrumentIsOnItsPage(t *testing.T) {
	known := map[string]bool{}
	for _, f := range health.All() {
		if i := f.InstrumentOf(); i.Name != "" {
			known[i.Name] = true
		}
	}
	literal := regexp.MustCompile(`Name: "([a-z]+\.[a-z0-9_.]+)", Unit`)
	for _, dir := range []string{"internal/cli", "internal/health", "internal/network"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range literal.FindAllStringSubmatch(read(t, file), -1) {
				known[m[1]] = true
			}
		}
	}
	said := map[string]bool{}
	_, page, _ := strings.Cut(read(t, filepath.Join(root, metricsPage)), "## Over OTLP")
	for _, row := range instrument.FindAllStringSubmatch(page, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			said[name[1]] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(known)); !slices.Equal(got, want) || len(want) < 35 {
		t.Errorf("the page has\n%q\nand the code writes\n%q", got, want)
	}
}

func TestRulesAndDashboardAskForMetricsThatAreThere(t *testing.T) {
	known := emitted(t)
	for _, file := range []string{rulesFile, "packaging/prometheus/grafana-dashboard.json"} {
		asked := metric.FindAllString(read(t, filepath.Join(root, file)), -1)
		for _, name := range asked {
			if !known[name] {
				t.Errorf("%s asks for %s, which the code does not write", file, name)
			}
		}
		if len(asked) < 12 {
			t.Errorf("%s asks for %d metrics", file, len(asked))
		}
	}
}

func TestEveryAlertIsOnThePageOfMetrics(t *testing.T) {
	alert := regexp.MustCompile(`(?m)alert: (\w+)[\s\S]*?severity: (\w+)`)
	page := read(t, filepath.Join(root, metricsPage))
	alerts := alert.FindAllStringSubmatch(read(t, filepath.Join(root, rulesFile)), -1)
	for _, a := range alerts {
		if !strings.Contains(page, "| `"+a[1]+"` | "+a[2]+" |") {
			t.Errorf("%s does not have %s with severity %s", metricsPage, a[1], a[2])
		}
	}
	if rows := strings.Count(page, "| `Sentinel"); rows != len(alerts) {
		t.Errorf("%s has %d alerts, and there are %d", metricsPage, rows, len(alerts))
	}
}
