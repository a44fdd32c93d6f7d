// SPDX-License-Identifier: Apache-2.0

// Package otlp sends reports of sentinel to a real OpenTelemetry Collector, in namespaces of its own.
// It is a module of its own so that the dependencies of the Collector stay out of sentinel's.
package otlp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/hwconv"
	"go.opentelemetry.io/otel/semconv/v1.43.0/systemconv"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// programEnv names the program under test to the tests in the namespaces.
const programEnv = "SENTINEL_TEST_PROGRAM"

// TestMain builds sentinel and runs the tests again in namespaces of their own: loopback alone, and nothing
// of what this machine's sentinel keeps.
func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" || os.Getuid() != 0 {
		os.Exit(m.Run())
	}
	os.Exit(isolated())
}

func isolated() int {
	dir, err := os.MkdirTemp("", "otlp")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "sentinel")
	build := exec.Command("go", "build", "-o", program, "./cmd/sentinel")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	inside := exec.Command("unshare", append([]string{"--net", "--mount", "--propagation", "private", "/bin/sh", "-c",
		`ip link set lo up &&
		mount -t tmpfs -o mode=755 tmpfs /var/lib && mount -t tmpfs -o mode=755 tmpfs /var/log &&
		mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work && mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work overlay /etc &&
		exec "$@"`, "sh"}, os.Args...)...)
	inside.Env = append(os.Environ(), programEnv+"="+program)
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = inside.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// A machine is one with a configuration of sentinel and nothing kept from before.
type machine struct {
	*testing.T
	dir string // of the Collector
}

func newMachine(t *testing.T, config string) machine {
	t.Helper()
	if os.Getenv(programEnv) == "" {
		if os.Getenv("SENTINEL_REQUIRE_ALL") == "1" {
			t.Fatal("needed: root")
		}
		t.Skip("only root may make namespaces here")
	}
	for _, kept := range []string{"/var/lib/sentinel", "/var/log/sentinel", etc} {
		must(t, os.RemoveAll(kept))
	}
	must(t, os.MkdirAll(secrets, 0o700))
	m := machine{t, t.TempDir()}
	m.configure(config)
	return m
}

// Directories of sentinel, which are the tests' own.
const (
	etc     = "/etc/sentinel"
	secrets = etc + "/secrets"
)

func (m machine) configure(config string) {
	m.Helper()
	write(m.T, filepath.Join(etc, "config.yaml"), config)
}

// certify gives sentinel and the Collector certificates of one authority.
func (m machine) certify() {
	m.Helper()
	a := newAuthority(m.T)
	for name, dir := range map[string]string{"receiver": m.dir, "host": secrets} {
		certificate, key := a.issue(m.T, name)
		write(m.T, filepath.Join(dir, name+".pem"), string(certificate))
		write(m.T, filepath.Join(dir, name+".key"), string(key))
		write(m.T, filepath.Join(dir, "fleet-ca.pem"), string(a.pem))
	}
}

// An outcome is what is read of an answer of sentinel.
type outcome struct {
	Success   bool   `json:"success"`
	ErrorCode string `json:"error_code"`
	Error     string `json:"error"`
	Endpoints []struct {
		Target            string   `json:"target"`
		State             string   `json:"state"`
		Status            int      `json:"http_status"`
		Attempts          int      `json:"attempts"`
		Earlier           int      `json:"earlier_sent"`
		Waiting           int      `json:"waiting"`
		SetAside          int      `json:"set_aside"`
		RetryAfterSeconds int      `json:"retry_after_seconds"`
		Reason            string   `json:"reason"`
		Notes             []string `json:"notes"`
	} `json:"endpoints"`
}

// states are those of the endpoints, in their order.
func (o outcome) states() string {
	var list []string
	for _, e := range o.Endpoints {
		list = append(list, e.State)
	}
	return strings.Join(list, " ")
}

func (m machine) reports() outcome {
	m.Helper()
	cmd := exec.Command(os.Getenv(programEnv), "--report", "--json")
	raw, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		m.Fatal(err)
	}
	var o outcome
	if err := json.Unmarshal(raw, &o); err != nil {
		m.Fatalf("%v: %s", err, raw)
	}
	m.Logf("%s", raw)
	return o
}

// plain is a Collector without TLS, on loopback.
const plain = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:4318"}}}}
exporters: {debug: {}}
service: {pipelines: {metrics: {receivers: [otlp], exporters: [debug]}, logs: {receivers: [otlp], exporters: [debug]}}}
`

const toPlain = `otlp: {endpoint: "http://127.0.0.1:4318"}` + "\n"

func (m machine) collectPlainly() (*archive, func()) {
	m.Helper()
	return collect(m.T, write(m.T, filepath.Join(m.dir, "plain.yaml"), plain))
}

// The configurations of the guide, of both sides, as they stand there.
func TestACollectorGetsFiguresAndEvents(t *testing.T) {
	m := newMachine(t, "")
	m.certify()
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "fleet.md"))
	must(t, err)
	_, config, _ := strings.Cut(string(guide), "<!-- file: otlp.yaml -->\n```yaml\n")
	config, _, _ = strings.Cut(config, "\n```\n")
	m.configure(strings.ReplaceAll(config, "otel.example.com", "127.0.0.1") + "\nagent_id: web-1\nwebhook: {tags: {role: web}}\nthresholds: {memory: {warning: 0.0001, critical: 100}}\n")
	a, _ := collect(t, guided(t, m.dir))
	if o := m.reports(); o.states() != "delivered delivered" || o.Endpoints[0].Status != 200 {
		t.Fatalf("%+v", o)
	}
	metrics, logs := a.got()
	if len(metrics) != 1 || len(logs) != 1 {
		t.Fatalf("%d bodies of metrics, %d of logs", len(metrics), len(logs))
	}
	t.Run("resource", func(t *testing.T) { checkResource(t, metrics[0].ResourceMetrics().At(0).Resource().Attributes()) })
	t.Run("metrics", func(t *testing.T) {
		checkMetrics(t, metrics[0].ResourceMetrics().At(0), records(logs[0].ResourceLogs().At(0))[0].ObservedTimestamp())
	})
	t.Run("logs", func(t *testing.T) { checkLogs(t, logs[0].ResourceLogs().At(0)) })
	if o := m.reports(); !o.Success {
		t.Fatalf("%+v", o)
	}
	_, logs = a.got()
	if again := records(logs[1].ResourceLogs().At(0)); slices.Contains(names(again), "sentinel.threat_reason.began MEMORY_LOW") || names(again)[0] != "sentinel.report" {
		t.Errorf("told again: %q", names(again))
	}
}

func text(attributes pcommon.Map, key any) string {
	value, there := attributes.Get(fmt.Sprint(key))
	if !there {
		return ""
	}
	return value.AsString()
}

func checkResource(t *testing.T, of pcommon.Map) {
	hostname, err := os.Hostname()
	must(t, err)
	id, err := os.ReadFile("/var/lib/sentinel/agent-id")
	must(t, err)
	for key, want := range map[string]string{
		string(semconv.ServiceNameKey): "sentinel", string(semconv.HostNameKey): hostname, string(semconv.HostIDKey): strings.TrimSpace(string(id)), string(semconv.OSTypeKey): "linux",
		string(semconv.ServiceInstanceIDKey): strings.TrimSpace(string(id)), "sentinel.agent.id": "web-1", "sentinel.tag.role": "web",
	} {
		if got := text(of, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{string(semconv.ServiceVersionKey), string(semconv.OSDescriptionKey), string(semconv.OSVersionKey)} {
		if text(of, key) == "" {
			t.Errorf("no %s", key)
		}
	}
}

// An instrument of the semantic conventions, as their authors generate it.
type instrument interface {
	Name() string
	Unit() string
}

// conventional are those that sentinel writes; that it is a sum says the type of each.
var conventional = map[instrument]bool{
	systemconv.CPUUtilization{}: false, systemconv.CPULogicalCount{}: true, systemconv.MemoryLimit{}: true, systemconv.MemoryUsage{}: true, systemconv.MemoryUtilization{}: false,
	systemconv.PagingUsage{}: true, systemconv.PagingUtilization{}: false, systemconv.FilesystemLimit{}: true, systemconv.FilesystemUsage{}: true, systemconv.FilesystemUtilization{}: false,
	systemconv.Uptime{}: false, systemconv.ProcessCount{}: true, systemconv.NetworkConnectionCount{}: true, systemconv.NetworkIO{}: true, systemconv.NetworkErrors{}: true,
	systemconv.NetworkPacketDropped{}: true, hwconv.Temperature{}: false,
}

// always are those that every machine has.
var always = []instrument{
	systemconv.CPUUtilization{}, systemconv.CPULogicalCount{}, systemconv.MemoryLimit{}, systemconv.MemoryUsage{}, systemconv.MemoryUtilization{}, systemconv.FilesystemUsage{},
	systemconv.Uptime{}, systemconv.ProcessCount{}, systemconv.NetworkConnectionCount{}, systemconv.NetworkIO{},
}

// notConventional has the names of other instruments that are not below "sentinel.": the Collector's own.
var notConventional = []string{"system.cpu.load_average.1m", "system.cpu.load_average.5m", "system.cpu.load_average.15m"}

// checkMetrics holds metrics to the conventions, and to the moment of the report.
func checkMetrics(t *testing.T, of pmetric.ResourceMetrics, at pcommon.Timestamp) {
	if of.SchemaUrl() != semconv.SchemaURL {
		t.Errorf("the schema is %s, want %s", of.SchemaUrl(), semconv.SchemaURL)
	}
	units, sums := map[string]string{}, map[string]bool{}
	for i, sum := range conventional {
		units[i.Name()], sums[i.Name()] = i.Unit(), sum
	}
	found := map[string]pmetric.Metric{}
	for _, metric := range of.ScopeMetrics().At(0).Metrics().All() {
		name := metric.Name()
		found[name] = metric
		unit, known := units[name]
		switch {
		case known && (unit != metric.Unit() || sums[name] != (metric.Type() == pmetric.MetricTypeSum)):
			t.Errorf("%s has unit %q and type %s", name, metric.Unit(), metric.Type())
		case !known && !strings.HasPrefix(name, "sentinel.") && !slices.Contains(notConventional, name):
			t.Errorf("%s is no name of the conventions", name)
		}
		if len(points(metric)) == 0 {
			t.Errorf("%s has no value", name)
		}
		for _, p := range points(metric) {
			if p.Timestamp() != at {
				t.Errorf("%s is of %v, want %v", name, p.Timestamp(), at)
			}
		}
	}
	for _, i := range always {
		if _, there := found[i.Name()]; !there {
			t.Errorf("no %s", i.Name())
		}
	}
	checkValues(t, found)
}

func points(m pmetric.Metric) (list []pmetric.NumberDataPoint) {
	slice := pmetric.NewNumberDataPointSlice()
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		slice = m.Gauge().DataPoints()
	case pmetric.MetricTypeSum:
		slice = m.Sum().DataPoints()
	}
	for _, p := range slice.All() {
		list = append(list, p)
	}
	return list
}

// checkValues compares with what the kernel says.
func checkValues(t *testing.T, found map[string]pmetric.Metric) {
	limit := points(found["system.memory.limit"])[0].IntValue()
	used := points(found["system.memory.usage"])[0]
	share := points(found["system.memory.utilization"])[0].DoubleValue()
	if state := text(used.Attributes(), semconv.SystemMemoryStateKey); state != "used" || used.IntValue() <= 0 || used.IntValue() > limit || share <= 0 || share > 1 {
		t.Errorf("%d of %d bytes %s, %v", used.IntValue(), limit, state, share)
	}
	if share := points(found["system.cpu.utilization"])[0].DoubleValue(); share < 0 || share > 1 {
		t.Errorf("the processor is used to %v", share)
	}
	interfaces := points(found["system.network.io"])
	directions := map[string]bool{}
	for _, p := range interfaces {
		if text(p.Attributes(), semconv.NetworkInterfaceNameKey) != "lo" || p.StartTimestamp() == 0 {
			t.Errorf("%v since %v", p.Attributes().AsRaw(), p.StartTimestamp())
		}
		directions[text(p.Attributes(), semconv.NetworkIODirectionKey)] = p.IntValue() >= 0
	}
	if !directions["receive"] || !directions["transmit"] || !found["system.network.io"].Sum().IsMonotonic() {
		t.Errorf("%v", directions)
	}
	for _, p := range points(found["system.filesystem.usage"]) {
		a := p.Attributes()
		if text(a, semconv.SystemFilesystemMountpointKey) == "" || text(a, semconv.SystemFilesystemTypeKey) == "" || !slices.Contains([]string{"used", "free", "reserved"}, text(a, semconv.SystemFilesystemStateKey)) {
			t.Errorf("%v", a.AsRaw())
		}
	}
	if level := points(found["sentinel.threat.level"])[0].IntValue(); level < 1 || level > 2 {
		t.Errorf("the level is %d, and memory is a reason", level)
	}
}

func records(of plog.ResourceLogs) (list []plog.LogRecord) {
	for _, r := range of.ScopeLogs().At(0).LogRecords().All() {
		list = append(list, r)
	}
	return list
}

func names(list []plog.LogRecord) (of []string) {
	for _, r := range list {
		of = append(of, strings.TrimSpace(r.EventName()+" "+text(r.Attributes(), "sentinel.reason.code")))
	}
	return of
}

func checkLogs(t *testing.T, of plog.ResourceLogs) {
	if host := text(of.Resource().Attributes(), semconv.HostNameKey); host == "" {
		t.Error("no host")
	}
	list := records(of)
	if names(list)[0] != "sentinel.report" || list[0].SeverityNumber() < plog.SeverityNumberWarn || !strings.HasPrefix(list[0].Body().Str(), "The threat level is ") {
		t.Errorf("%v %q", list[0].SeverityNumber(), list[0].Body().Str())
	}
	at := slices.Index(names(list), "sentinel.threat_reason.began MEMORY_LOW")
	if at < 0 {
		t.Fatalf("%q", names(list))
	}
	r := list[at]
	value, there := r.Attributes().Get("sentinel.reason.value")
	if !there || r.SeverityNumber() != plog.SeverityNumberWarn || r.SeverityText() != "WARN" || text(r.Attributes(), "sentinel.reason.severity") != "WARNING" || value.Double() <= 0 || r.Timestamp() == 0 || !strings.HasPrefix(r.Body().Str(), "Memory is ") {
		t.Errorf("%v %q %v", r.SeverityNumber(), r.Body().Str(), r.Attributes().AsRaw())
	}
}

// taken is a webhook on loopback that counts what it takes.
func taken(t *testing.T) (url string, count func() int) {
	t.Helper()
	ids := make(chan string, 100)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ids <- r.Header.Get("Webhook-Id") })}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String() + "/", func() int { return len(ids) }
}

// A Collector that is down gets every report once, in order, when it is up again; a webhook waits for none
// of that.
func TestReportsWaitForACollectorThatIsDown(t *testing.T) {
	m := newMachine(t, "")
	url, count := taken(t)
	m.configure(toPlain + `webhook: {endpoints: [{url: "` + url + `"}]}` + "\n")
	if o := m.reports(); o.ErrorCode != "WEBHOOK_QUEUED" || o.states() != "delivered queued queued" || o.Endpoints[1].Waiting != 1 || count() != 1 {
		t.Fatalf("%+v, %d at the webhook", o, count())
	}
	a, stop := m.collectPlainly()
	if o := m.reports(); !o.Success || o.Endpoints[1].Earlier != 1 || o.Endpoints[2].Earlier != 1 || o.Endpoints[0].Earlier != 0 {
		t.Fatalf("%+v", o)
	}
	metrics, logs := a.got()
	if len(metrics) != 2 || len(logs) != 2 || count() != 2 {
		t.Fatalf("%d bodies of metrics, %d of logs, %d at the webhook", len(metrics), len(logs), count())
	}
	var times []pcommon.Timestamp
	for _, body := range metrics {
		times = append(times, points(body.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0))[0].Timestamp())
	}
	if times[0] >= times[1] {
		t.Errorf("in the order %v", times)
	}
	if first, second := names(records(logs[0].ResourceLogs().At(0))), names(records(logs[1].ResourceLogs().At(0))); first[0] != "sentinel.report" || second[0] != "sentinel.report" {
		t.Errorf("%q, %q", first, second)
	}
	stop()
}

// throttled is how a Collector says that it has too much to do.
func throttled(t *testing.T, wait time.Duration) error {
	t.Helper()
	s, err := status.New(codes.ResourceExhausted, "too much").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	must(t, err)
	return s.Err()
}

// sequence refuses with one error after another.
func (a *archive) sequence(errs ...error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse = func() (err error) {
		if len(errs) > 0 {
			err, errs = errs[0], errs[1:]
		}
		return err
	}
}

func TestWhatACollectorRefusesIsSentAgainOrNot(t *testing.T) {
	m := newMachine(t, toPlain)
	a, _ := m.collectPlainly()
	a.sequence(throttled(t, time.Second))
	if o := m.reports(); !o.Success || o.Endpoints[0].Attempts != 2 {
		t.Errorf("throttled for a second: %+v", o)
	}
	a.sequence(throttled(t, time.Hour))
	if o := m.reports(); o.states() != "queued delivered" || o.Endpoints[0].Status != 429 || o.Endpoints[0].RetryAfterSeconds != 3600 || o.Endpoints[0].Attempts != 1 {
		t.Errorf("throttled for an hour: %+v", o)
	}
	a.sequence(nil, status.Error(codes.InvalidArgument, "HOSTILE no such metric"))
	o := m.reports()
	if o.ErrorCode != "WEBHOOK_FAILED" || o.states() != "failed delivered" || o.Endpoints[0].Status != 400 || o.Endpoints[0].Earlier != 1 || o.Endpoints[0].Waiting != 0 || !strings.Contains(o.Error, "Not delivered, and not kept") || strings.Contains(o.Error, "HOSTILE") {
		t.Errorf("wrong: %+v", o)
	}
	a.sequence(status.Error(codes.Internal, "never")) // 500, as for an error that a pipeline calls permanent
	if o := m.reports(); o.states() != "failed delivered" || o.Endpoints[0].Status != 500 || o.Endpoints[0].Attempts != 1 {
		t.Errorf("never: %+v", o)
	}
	if o := m.reports(); !o.Success || o.Endpoints[0].Earlier != 0 {
		t.Errorf("afterwards: %+v", o)
	}
	if metrics, logs := a.got(); len(metrics) != 3 || len(logs) != 5 {
		t.Errorf("%d bodies of metrics, %d of logs", len(metrics), len(logs))
	}
}

// A Collector that takes a part answers as the Collector's own library encodes it.
func TestWhatACollectorTakesInPartIsAWarning(t *testing.T) {
	m := newMachine(t, toPlain)
	l, err := net.Listen("tcp", "127.0.0.1:4318")
	must(t, err)
	s := &http.Server{Handler: http.HandlerFunc(inPart)}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	o := m.reports()
	if !o.Success || o.states() != "delivered delivered" {
		t.Fatalf("%+v", o)
	}
	for i, want := range []string{
		`The Collector has not taken all: it rejected data points (3): "too ` + "\uFFFD" + `[31mold".`,
		`The Collector has not taken all: it rejected log records (1).`,
	} {
		if notes := o.Endpoints[i].Notes; len(notes) != 1 || notes[0] != want {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

func inPart(w http.ResponseWriter, r *http.Request) {
	var raw []byte
	var err error
	if strings.HasSuffix(r.URL.Path, "/v1/metrics") {
		response := pmetricotlp.NewExportResponse()
		response.PartialSuccess().SetRejectedDataPoints(3)
		response.PartialSuccess().SetErrorMessage("too \x1b[31mold")
		raw, err = response.MarshalJSON()
	} else {
		response := plogotlp.NewExportResponse()
		response.PartialSuccess().SetRejectedLogRecords(1)
		raw, err = response.MarshalJSON()
	}
	if err == nil {
		io.Copy(w, bytes.NewReader(raw))
	}
}

func TestACollectorWithTheWrongCertificateGetsNothing(t *testing.T) {
	m := newMachine(t, `otlp: {endpoint: "https://127.0.0.1:4318", ca_file: fleet-ca.pem}`+"\n")
	m.certify()
	write(t, filepath.Join(secrets, "fleet-ca.pem"), string(newAuthority(t).pem))
	a, _ := collect(t, guided(t, m.dir))
	o := m.reports()
	if o.states() != "queued queued" || !strings.Contains(o.Endpoints[0].Reason, "certificate that does not hold: it is signed by an unknown authority") || o.Endpoints[0].Attempts != 1 {
		t.Errorf("%+v", o)
	}
	if metrics, logs := a.got(); len(metrics)+len(logs) > 0 {
		t.Error("something arrived")
	}
}
