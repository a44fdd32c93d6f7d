// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sentinel/internal/testenv"
)

// The guide and the schema inside of the container.
const (
	shippedGuide  = "/shipped/fleet.md"
	shippedSchema = "/shipped/webhook-v1.json"
)

// The guide is typed as it stands, on a Debian with systemd.
func TestTheGuideAsItStands(t *testing.T) {
	build(t, "./cmd/sentinel", "./examples/receiver")
	if !testenv.BootedWith(t, nil, shipped(t)) {
		return
	}
	shell(t, "/", "install /shipped/sentinel /usr/local/bin/ && install -m 644 /shipped/sentinel-*.service /shipped/sentinel-*.timer /etc/systemd/system/ && systemctl daemon-reload")
	dir := t.TempDir()
	certify(t, dir, "hooks.example.com")
	named(t, "hooks.example.com")
	shell(t, dir, "install /shipped/receiver .")
	f := &follower{T: t, dir: dir}
	f.types("run: key")
	f.types("run: secrets")
	if modes := shell(t, "/etc/sentinel", "stat -c %a%U secrets secrets/*"); modes != "700root\n600root\n600root\n" {
		t.Errorf("modes %s", modes)
	}
	write(t, "/etc/sentinel/config.yaml", part(t, shippedGuide, "file: config.yaml"), 0o644)

	t.Run("report", f.reports)
	t.Run("what is kept", f.keeps)
	t.Run("a new key", f.rotates)
	t.Run("timer", f.times)
	t.Run("authorization", f.authorizes)
	t.Run("metrics", f.measures)
	t.Run("what the unit may do", f.exposes)
}

// shipped names what the container needs, by its path there.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{filepath.Join(built(), "sentinel"): "/shipped/sentinel", filepath.Join(built(), "receiver"): "/shipped/receiver"}
	for _, name := range []string{"docs/fleet.md", "docs/schemas/webhook-v1.json", "packaging/systemd/sentinel-report.service", "packaging/systemd/sentinel-report.timer",
		"packaging/systemd/sentinel-metrics.service", "packaging/systemd/sentinel-metrics.timer", "packaging/systemd/sentinel-metrics-hourly.service", "packaging/systemd/sentinel-metrics-hourly.timer"} {
		path, err := filepath.Abs(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = "/shipped/" + filepath.Base(name)
	}
	return files
}

// A follower does what the guide says, in a directory of its own.
type follower struct {
	*testing.T
	dir      string
	receiver *exec.Cmd
	has      int // documents that the receiver had when it was looked at last
}

func (f *follower) types(mark string) string {
	f.Helper()
	return shell(f.T, f.dir, part(f.T, shippedGuide, mark))
}

// receive starts the receiver with a file of keys, in place of the one before.
func (f *follower) receive(secret string) {
	f.Helper()
	f.deafen()
	f.receiver = start(f.T, f.dir, "/bin/sh", "-c", strings.Replace(part(f.T, shippedGuide, "run: receiver"), "-secret fleet.key", "-secret "+secret, 1))
	listens(f.T, "127.0.0.1:443")
}

func (f *follower) deafen() {
	if f.receiver != nil {
		stop(f.receiver)
	}
}

// got holds the receiver to so many documents since the last time, and returns
// the names of all.
func (f *follower) got(t *testing.T, more int) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.dir, "documents", "*.json"))
	if err != nil || len(files)-f.has != more {
		t.Fatalf("the receiver had %d documents and has %v, %v; want %d more", f.has, files, err, more)
	}
	f.has = len(files)
	return files
}

// An outcome is what is read of an answer of sentinel.
type outcome struct {
	Success   bool   `json:"success"`
	ErrorCode string `json:"error_code"`
	Endpoints []struct {
		State   string `json:"state"`
		Status  int    `json:"http_status"`
		Signed  bool   `json:"signed"`
		Earlier int    `json:"earlier_sent"`
		Waiting int    `json:"waiting"`
	} `json:"endpoints"`
}

func reported(t *testing.T) outcome {
	t.Helper()
	out, _ := typed("/", "sentinel --report") // whose status is in the document
	var o outcome
	if err := json.Unmarshal([]byte(out), &o); err != nil || len(o.Endpoints) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	return o
}

func (f *follower) reports(t *testing.T) {
	f.receive("fleet.key")
	said := f.types("run: report")
	if !strings.Contains(said, "Would send ") || !strings.Contains(said, `"state":"delivered"`) || strings.Count(said, "\n") != 2 {
		t.Errorf("said %s", said)
	}
	raw, err := os.ReadFile(f.got(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := conforms(t, raw); err != nil {
		t.Errorf("%v\n%s", err, raw)
	}
	if lacking := bytes.Replace(raw, []byte(`"schema_version":1`), []byte(`"schema_version":2`), 1); conforms(t, lacking) == nil {
		t.Error("a document of another version fits the schema")
	}
	if !bytes.Contains(raw, []byte(`"tags":{"role":"web","site":"north"}`)) {
		t.Errorf("no tags in %s", raw)
	}
}

// conforms checks a document against the schema as it is published.
func conforms(t *testing.T, raw []byte) error {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(shippedSchema)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (f *follower) keeps(t *testing.T) {
	f.deafen()
	o := reported(t)
	if o.Success || o.ErrorCode != "WEBHOOK_QUEUED" || o.Endpoints[0].State != "queued" || o.Endpoints[0].Waiting != 1 {
		t.Errorf("%+v", o)
	}
	if modes := shell(t, "/var/lib/sentinel", "stat -c %a%U spool spool/* spool/*/*.doc"); modes != "700root\n700root\n600root\n" {
		t.Errorf("modes %s", modes)
	}
	f.receive("fleet.key")
	if o = reported(t); !o.Success || o.Endpoints[0].Earlier != 1 || !o.Endpoints[0].Signed || o.Endpoints[0].Status != 204 {
		t.Errorf("%+v", o)
	}
	f.got(t, 2)
}

func (f *follower) rotates(t *testing.T) {
	f.types("run: rotate-receiver")
	f.receive("fleet.keys")
	if o := reported(t); !o.Success {
		t.Errorf("with the old key: %+v", o)
	}
	f.got(t, 1)
	f.types("run: rotate-host")
	f.got(t, 1)
	f.receive("fleet.key") // the old one alone
	if o := reported(t); o.ErrorCode != "WEBHOOK_QUEUED" || o.Endpoints[0].Status != 401 {
		t.Errorf("a key that the receiver does not know: %+v", o)
	}
	f.got(t, 0)
	f.receive("fleet.key.new")
	if o := reported(t); !o.Success || o.Endpoints[0].Earlier != 1 {
		t.Errorf("with the new key: %+v", o)
	}
	f.got(t, 2)
}

func (f *follower) times(t *testing.T) {
	if said := f.types("run: timer"); !strings.Contains(said, "sentinel-report.service") {
		t.Errorf("said %s", said)
	}
	if wait := nextReport(t); wait > 4*time.Minute { // after boot, which was just now
		t.Errorf("the first report is in %v", wait)
	}
	timers := shell(t, "/", "systemctl show --property TimersMonotonic --property RandomizedDelayUSec --property FixedRandomDelay sentinel-report.timer")
	for _, want := range []string{"OnBootUSec=2min", "OnUnitInactiveUSec=5min", "RandomizedDelayUSec=2min", "FixedRandomDelay=yes"} {
		if !strings.Contains(timers, want) {
			t.Errorf("the timer has no %s:\n%s", want, timers)
		}
	}
	f.types("run: minutely")
	shell(t, "/", "systemctl is-enabled --quiet sentinel-report.timer && systemctl is-active --quiet sentinel-report.timer")
	if wait := nextReport(t); wait > 2*time.Minute+time.Second {
		t.Errorf("the next report is in %v", wait)
	}
	if timers = shell(t, "/", "systemctl show --property TimersMonotonic --property TimersCalendar sentinel-report.timer"); strings.Contains(timers, "OnUnitInactive") || !strings.Contains(timers, "OnCalendar=*-*-* *:*:00") {
		t.Errorf("timers %s", timers)
	}
	shell(t, "/", "systemctl start sentinel-report.service")
	f.got(t, 1)
	shell(t, "/", "systemctl disable --now --quiet sentinel-report.timer")
}

// nextReport is how long the timer waits from now on.
func nextReport(t *testing.T) time.Duration {
	t.Helper()
	var timers []struct {
		Next int64 `json:"next"` // microseconds since 1970
	}
	said := shell(t, "/", "systemctl list-timers --output=json sentinel-report.timer")
	if err := json.Unmarshal([]byte(said), &timers); err != nil || len(timers) != 1 {
		t.Fatalf("%v: %s", err, said)
	}
	return time.Until(time.UnixMicro(timers[0].Next))
}

func (f *follower) authorizes(t *testing.T) {
	for mark, want := range map[string]string{"run: token": "Bearer secret", "run: basic": "Basic c2VudGluZWw6c2VjcmV0"} {
		shell(t, f.dir, "FLEET_TOKEN=secret FLEET_PASSWORD=secret\n"+part(t, shippedGuide, mark))
		name := map[string]string{"run: token": "fleet.token", "run: basic": "fleet.basic"}[mark]
		if got := shell(t, "/etc/sentinel/secrets", "stat -c %a%U "+name+"; cat "+name); got != "600root\n"+want+"\n" {
			t.Errorf("%s holds %s", name, got)
		}
		write(t, "/etc/sentinel/config.yaml", part(t, shippedGuide, "file: config.yaml")+"      authorization_file: "+name+"\n", 0o644)
		if o := reported(t); !o.Success {
			t.Errorf("%s: %+v", name, o)
		}
		f.got(t, 1)
	}
}

func (f *follower) measures(t *testing.T) {
	if err := os.MkdirAll(textfiles, 0o755); err != nil {
		t.Fatal(err)
	}
	f.types("run: metrics-timer")
	const units = "sentinel-metrics.service sentinel-metrics-hourly.service"
	shell(t, "/", "systemctl is-active --quiet sentinel-metrics.timer sentinel-metrics-hourly.timer && systemd-analyze verify --man=no "+units+" && systemctl start "+units)
	page := readPage(t)
	for _, want := range []string{"sentinel_firewall_status{status=\"UNKNOWN\"} 0", "sentinel_blocked_addresses 0", "sentinel_blocklist_in_sync 1", "sentinel_journal_intact 1", "sentinel_updates_pending "} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("no %s on the pages of root:\n%s", want, page)
		}
	}
	if said := shell(t, "/", "journalctl --quiet --output=cat --unit sentinel-metrics.service --unit sentinel-metrics-hourly.service"); said != "" {
		t.Errorf("a run that went well is in the log:\n%s", said)
	}
	f.sees(t, page)
	f.types("run: metrics-folder")
	// A run that a timer began before the folder was there would be the one that is waited for.
	shell(t, "/", "systemctl disable --now --quiet sentinel-metrics.timer sentinel-metrics-hourly.timer && systemctl stop "+units)
	shell(t, "/", "mkdir /var/lib/node_exporter && systemctl start "+units+" && test -s /var/lib/node_exporter/sentinel.prom -a -s /var/lib/node_exporter/sentinel-verify-journal.prom")
}

// sees holds the audit of the unit to that of a root with all capabilities, and a journal that somebody
// changed to its page.
func (f *follower) sees(t *testing.T, page string) {
	t.Helper()
	coverage := regexp.MustCompile(`(?m)^sentinel_audit_(coverage_ratio|score_ratio|checks|failures).*$`)
	all := shell(t, "/", "sentinel --security-audit --output prometheus")
	if diff := cmp.Diff(coverage.FindAllString(all, -1), coverage.FindAllString(page, -1)); diff != "" {
		t.Errorf("the audit of the unit is not that of root (-root +unit):\n%s", diff)
	}
	shell(t, "/", "echo forged >> /var/log/sentinel/journal.jsonl && systemctl start sentinel-metrics-hourly.service")
	if page := readPage(t); !strings.Contains(page, "\nsentinel_journal_intact 0\n") {
		t.Errorf("a journal that was changed is intact:\n%s", page)
	}
}

// The score of systemd-analyze(1) is the one in the guide; 10 is everything that
// root can do.
func (f *follower) exposes(t *testing.T) {
	said := shell(t, "/", "systemd-analyze security --no-pager sentinel-report.service")
	found := regexp.MustCompile(`Overall exposure level for sentinel-report.service: ([0-9.]+) ([A-Z]+)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatal(said)
	}
	raw, err := os.ReadFile(shippedGuide)
	if err != nil || !strings.Contains(string(raw), "**"+found[1]+" "+found[2]+"**") {
		t.Errorf("the score is %s %s, which the guide does not say (%v)", found[1], found[2], err)
	}
}
