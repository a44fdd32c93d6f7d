// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sentinel/test/assistant"
)

// fleetKey signs what goes to the receiver of the configuration.
const fleetKey = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="

// A receiver takes documents on this machine.
type receiver struct {
	url    string
	mu     sync.Mutex
	status int
	got    []received
}

type received struct {
	header   http.Header
	raw      []byte
	document assistant.Document
}

func listen(t *testing.T) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + l.Addr().String() + "/in", status: 200}
	s := &http.Server{Handler: r}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	raw, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	one := received{header: q.Header, raw: raw}
	json.Unmarshal(raw, &one.document)
	if r.status == 200 {
		r.got = append(r.got, one)
	}
	w.WriteHeader(r.status)
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// take returns what was taken since the last time, which must be so many.
func (r *receiver) take(t *testing.T, want int) []received {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	if len(got) != want {
		t.Fatalf("%d documents were taken, want %d", len(got), want)
	}
	return got
}

// fleet names a receiver in the configuration.
func fleet(t *testing.T, r *receiver) {
	t.Helper()
	configure(t, fmt.Sprintf("webhook: {endpoints: [{url: %q, secret_file: key}], tags: {role: test}}\n", r.url))
	if err := os.MkdirAll("/etc/sentinel/secrets", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/etc/sentinel/secrets/key", []byte(fleetKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func signed(t *testing.T, r received) {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(fleetKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Verify(r.raw, r.header); err != nil {
		t.Errorf("the signature does not hold: %v", err)
	}
}

func TestAnAssistantSendsTelemetry(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	named, other := listen(t), listen(t)
	fleet(t, named)
	s := connect(t)
	d := s.Call("", "send_telemetry_webhook", map[string]any{"url": named.url})
	if d["signed"] != true || d["configured"] != true || d.Text("target") != named.url || d.Number("http_status") != 200 || d.Number("attempts") != 1 {
		t.Errorf("the answer is %v", d)
	}
	whole := named.take(t, 1)[0]
	signed(t, whole)
	if whole.document.Text("delivery_id") != d.Text("delivery_id") || len(whole.raw) != d.Number("bytes") || whole.document.Text("firewall_status") == "UNKNOWN" {
		t.Errorf("the document is %s", whole.raw)
	}
	if a := history(t); a["tool"] != "send_telemetry_webhook" || a["state"] != "done" || fmt.Sprint(a["who"]) != "map[caller:remedy-test/1 sudo_uid:1000 sudo_user:pat uid:0 user:root]" {
		t.Errorf("the journal has %v", a)
	}

	for _, url := range []string{other.url + "?key=hunter2", strings.Replace(named.url, "/in", "/-/quit", 1), strings.Replace(other.url, "127.0.0.1", "localhost", 1)} {
		if d = s.Call("TARGET_NOT_ALLOWED", "send_telemetry_webhook", map[string]any{"url": url}); strings.Contains(fmt.Sprint(d), "hunter2") || !strings.Contains(d.Text("fix"), "webhook.endpoints") {
			t.Errorf("the answer is %v", d)
		}
	}
	other.take(t, 0)
	named.take(t, 0)
	if left, err := filepath.Glob("/var/lib/sentinel/spool/*/*.doc"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}

	for _, url := range []any{
		"file:///etc/passwd", "http://example.com/", "https://a:b@example.com/", "http://169.254.169.254/", "https://[64:ff9b::a9fe:a9fe]/", "https://metadata.google.internal/", "", "-x", 7, nil,
		"https://example.com/" + strings.Repeat("a", 3000),
	} {
		s.Call("INVALID_URL", "send_telemetry_webhook", map[string]any{"url": url})
	}
	s.Call("INVALID_URL", "send_telemetry_webhook", map[string]any{})
	s.Call("INVALID_ARGUMENT", "send_telemetry_webhook", map[string]any{"url": other.url, "force": true})
	if os.WriteFile("/etc/hosts", []byte("127.0.0.1 localhost own.example.com\n169.254.169.254 innocent.example.com\n"), 0o644) == nil {
		if d := s.Call("WEBHOOK_FAILED", "send_telemetry_webhook", map[string]any{"url": "https://innocent.example.com/"}); !strings.Contains(d.Text("error"), "leads to an address that nothing is sent to") {
			t.Errorf("the failure is %v", d)
		}
		s.Call("TARGET_NOT_ALLOWED", "send_telemetry_webhook", map[string]any{"url": "https://own.example.com:" + other.url[strings.LastIndexByte(other.url, ':')+1:]})
	}
	named.answer(401)
	if d := s.Call("WEBHOOK_QUEUED", "send_telemetry_webhook", map[string]any{"url": named.url}); d.Number("waiting") != 1 || d.Text("state") != "queued" {
		t.Errorf("the failure is %v", d)
	}
	named.answer(200)
	if d := s.Call("", "send_telemetry_webhook", map[string]any{"url": named.url}); d.Number("earlier_sent") != 1 {
		t.Errorf("the answer is %v", d)
	}
	for _, r := range named.take(t, 2) {
		signed(t, r)
	}
	verified(t)
}

// The unit is narrowed in what it may do, and what it reports is what sentinel
// sees without that.
func TestTheUnitReportsAsMuchAsRootSees(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	for _, name := range []string{"service", "timer"} {
		do(t, "install", "-m", "644", "/shipped/systemd-sentinel-report."+name, "/etc/systemd/system/sentinel-report."+name)
	}
	do(t, "systemctl", "daemon-reload")
	do(t, "systemctl", "start", "ssh.service")
	r := listen(t)
	fleet(t, r)
	do(t, "systemd-analyze", "verify", "--man=no", "sentinel-report.service", "sentinel-report.timer")
	do(t, "systemctl", "start", "sentinel-report.service")
	inUnit := r.take(t, 1)[0]
	signed(t, inUnit)
	do(t, "/usr/local/bin/sentinel", "--report")
	outside := r.take(t, 1)[0]
	for _, name := range []string{"firewall_status", "agent_uuid", "unavailable", "disks", "listening", "tags", "failed_units"} {
		a, b := plainly(t, inUnit.document[name]), plainly(t, outside.document[name])
		if a != b {
			t.Errorf("%s in the unit:\n%s\noutside:\n%s", name, a, b)
		}
	}
	r.answer(503)
	do(t, "systemctl", "start", "sentinel-report.service") // what is kept and sent later is no failure
	if state := do(t, "systemctl", "show", "--property=Result", "sentinel-report.service"); state != "Result=success\n" {
		t.Errorf("after a report that waits: %s", state)
	}
	if left, err := filepath.Glob("/var/lib/sentinel/spool/*/*.doc"); err != nil || len(left) != 1 {
		t.Errorf("kept: %v, %v", left, err)
	}
	r.answer(200)
	do(t, "systemctl", "start", "sentinel-report.service")
	r.take(t, 2)
	do(t, "systemctl", "start", "sentinel-report.timer")
	exposed(t, "sentinel-report.service")
	verified(t)
}

// plainly renders a value, without the numbers that change from one moment to
// the next.
func plainly(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`"(used_bytes|available_bytes|free_bytes|used_percent|inodes_used_percent)":[0-9.]+`).ReplaceAllString(string(raw), "")
}

// exposed holds a unit to what systemd-analyze(1) thinks of it, 10 being
// everything that root can do.
func exposed(t *testing.T, unit string) {
	t.Helper()
	out := do(t, "systemd-analyze", "security", "--no-pager", unit)
	found := regexp.MustCompile(`Overall exposure level for ` + unit + `: ([0-9.]+)`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no score in %s", out)
	}
	score, err := strconv.ParseFloat(found[1], 64)
	if err != nil || score > 5.0 {
		t.Errorf("the exposure is %s\n%s", found[1], out)
	}
	t.Logf("the exposure is %s", found[1])
}
