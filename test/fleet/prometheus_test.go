// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

const (
	textfiles = "/var/lib/prometheus/node-exporter"
	guide     = "../../docs/fleet.md"
	rules     = "../../packaging/prometheus/sentinel.rules.yml"
	dashboard = "../../packaging/prometheus/grafana-dashboard.json"
	hourly    = "../../packaging/systemd/sentinel-metrics-hourly.service"
)

// The page goes the whole way: from the line of cron in the guide through
// node_exporter to what Prometheus answers.
func TestPrometheusHasWhatSentinelSaw(t *testing.T) {
	if !isolated(t, "./cmd/sentinel") {
		return
	}
	promtool := testenv.Program(t, "promtool", "prometheus")
	server := testenv.Program(t, "prometheus", "prometheus")
	exporter := testenv.Program(t, "prometheus-node-exporter", "prometheus-node-exporter")
	if err := os.MkdirAll(textfiles, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, textfiles+"/sentinel.prom.new", "half of a page that a crash left behind{", 0o644)
	cron(t)
	shell(t, textfiles, started(t, hourly))
	page := readPage(t)

	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(page)
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}

	dir := t.TempDir()
	config := part(t, guide, "file: prometheus.yml")
	write(t, filepath.Join(dir, "prometheus.yml"), strings.ReplaceAll(config, "1m", "1s"), 0o644)
	shell(t, ".", "cp "+rules+" "+dir)
	shell(t, dir, promtool+" check config prometheus.yml")

	start(t, dir, exporter, "--collector.textfile.directory="+textfiles, "--web.listen-address=127.0.0.1:9100")
	listens(t, "127.0.0.1:9100")
	exported := get(t, "http://127.0.0.1:9100/metrics")
	apart(t, page, exported)

	start(t, dir, server, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:9090")
	testenv.WaitFor(t, "Prometheus is ready, which it is later than it listens", func() bool {
		r, err := http.Get("http://127.0.0.1:9090/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	testenv.WaitFor(t, "Prometheus has scraped", func() bool { return query(t, "sentinel_cpu_cores") != nil })
	known(t, page)
	if got := query(t, "node_textfile_scrape_error"); !slices.Equal(got, []float64{0}) {
		t.Errorf("node_exporter could not read the page: %v", got)
	}
	if got := query(t, `time() - node_textfile_mtime_seconds{file="`+textfiles+`/sentinel.prom"} < 60`); len(got) != 1 {
		t.Errorf("node_exporter did not say when the page was written: %v", got)
	}
	t.Run("rules", alerted)
	t.Run("the dashboard", func(t *testing.T) { shown(t, page) })
	t.Run("a failure leaves the page", failureLeavesThePage)
}

// cron runs the line of the guide as cron does.
func cron(t *testing.T) {
	t.Helper()
	if out, err := cronOnce(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func cronOnce(t *testing.T) (string, error) {
	t.Helper()
	var path, command string
	for line := range strings.Lines(part(t, guide, "file: cron")) {
		switch {
		case strings.HasPrefix(line, "PATH="):
			path = line
		case strings.HasPrefix(line, "*"):
			command = strings.SplitN(line, " ", 7)[6]
		}
	}
	return typed("/", path+command)
}

// started is what a unit starts, as a shell reads it (systemd.service(5), COMMAND LINES).
func started(t *testing.T, unit string) string {
	t.Helper()
	raw, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ExecStart=/bin/sh -c '(.*)'$`).FindSubmatch(raw)
	if found == nil {
		t.Fatalf("%s starts no shell", unit)
	}
	return strings.ReplaceAll(string(found[1]), "$$", "$")
}

// readPage returns all pages, one after the other.
func readPage(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"sentinel.prom", "sentinel-check-updates.prom", "sentinel-security-audit.prom", "sentinel-verify-journal.prom"} {
		path := filepath.Join(textfiles, name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Fatalf("the page: %v, %v", info, err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}

var metric = regexp.MustCompile(`\bsentinel_[a-z0-9_]+`)

func TestTheRulesFireWhenTheyShould(t *testing.T) {
	promtool := testenv.Program(t, "promtool", "prometheus")
	for _, words := range [][]string{{"check", "rules", rules}, {"test", "rules", "testdata/sentinel.rules.test.yml"}} {
		if out, err := exec.Command(promtool, words...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", words, err, out)
		}
	}
}

// shown asks Prometheus every query of the dashboard, for all hosts. Those about what is on the
// page have an answer; a host without a sensor, or in a container, has less on it.
func shown(t *testing.T, page string) {
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	raw, err := os.ReadFile(dashboard)
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil || len(d.Panels) < 15 {
		t.Fatalf("%d panels, %v", len(d.Panels), err)
	}
	answered := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			got := query(t, strings.NewReplacer("$instance", ".*", "$__rate_interval", "4m").Replace(target.Expr))
			there := !slices.ContainsFunc(metric.FindAllString(target.Expr, -1), func(name string) bool { return !strings.Contains(page, "\n"+name) })
			switch {
			case len(got) > 0:
				answered++
			case there && !strings.Contains(target.Expr, "increase("): // which needs two scrapes
				t.Errorf("%s shows nothing: %s", p.Title, target.Expr)
			}
		}
	}
	if answered < 12 {
		t.Errorf("%d queries have an answer", answered)
	}
}

// apart holds the names of the page apart from those of node_exporter, and what
// is exported of it to what it says.
func apart(t *testing.T, page, exported string) {
	t.Helper()
	for line := range strings.Lines(page) {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if !strings.HasPrefix(line, "sentinel_") {
			t.Errorf("the page has %s", line)
		}
	}
	types := 0
	for line := range strings.Lines(exported) {
		if strings.HasPrefix(line, "# TYPE sentinel_") {
			types++
		}
	}
	if want := strings.Count(page, "# TYPE "); types != want {
		t.Errorf("%d metrics of sentinel are exported, want %d", types, want)
	}
	if strings.Contains(strings.ReplaceAll(exported, textfiles+"/sentinel.prom", ""), "node_sentinel") {
		t.Error("node_exporter has names of ours")
	}
}

// known asks for every sample of the page as it is written there.
func known(t *testing.T, page string) {
	t.Helper()
	count := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		want, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		// Labels narrow a query down; a sample without any must be the only one.
		if got := query(t, line[:at]); !slices.Equal(got, []float64{want}) {
			t.Errorf("Prometheus has %v for %s", got, line)
		}
		count++
	}
	if count < 25 {
		t.Errorf("the page has %d samples", count)
	}
	// What node_exporter has read by itself.
	for _, agrees := range []string{
		`sentinel_cpu_cores == on() count(node_cpu_seconds_total{mode="idle"})`, `sentinel_swap_total_bytes == on() node_memory_SwapTotal_bytes`,
		`sentinel_memory_total_bytes <= on() node_memory_MemTotal_bytes`, `abs(sentinel_uptime_seconds - on() (node_time_seconds - node_boot_time_seconds)) < 60`,
	} {
		if len(query(t, agrees)) != 1 {
			t.Errorf("does not hold: %s", agrees)
		}
	}
	if got := query(t, "sum(sentinel_threat_level)"); !slices.Equal(got, []float64{1}) {
		t.Errorf("levels that are: %v", got)
	}
}

// The firewall of a network namespace of its own is off, which is a reason.
func alerted(t *testing.T) {
	if got := query(t, `sentinel_threat_reason{code="FIREWALL_DISABLED",severity="WARNING"}`); !slices.Equal(got, []float64{1}) {
		t.Errorf("the reason: %v", got)
	}
	testenv.WaitFor(t, "the rule of the guide sees the level", func() bool {
		return strings.Contains(get(t, "http://127.0.0.1:9090/api/v1/alerts"), `"alertname":"Sentinel`)
	})
}

func failureLeavesThePage(t *testing.T) {
	before := readPage(t)
	write(t, "/etc/sentinel/config.yaml", "nonsense: true\n", 0o644)
	if out, err := cronOnce(t); err == nil {
		t.Errorf("a failure is a success: %s", out)
	}
	if readPage(t) != before {
		t.Error("a failure changed the page")
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v\n%s", address, r.StatusCode, err, raw)
	}
	return string(raw)
}

// query returns the values that Prometheus has for an expression now.
func query(t *testing.T, expression string) (values []float64) {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	raw := get(t, "http://127.0.0.1:9090/api/v1/query?query="+url.QueryEscape(expression))
	if err := json.Unmarshal([]byte(raw), &answer); err != nil {
		t.Fatal(err)
	}
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %s", expression, raw)
		}
		values = append(values, v)
	}
	return values
}
