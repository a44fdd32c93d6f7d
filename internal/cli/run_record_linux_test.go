// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/lockfile"
	"sentinel/internal/ops"
	"sentinel/internal/processes"
	"sentinel/internal/recorder"
	"sentinel/internal/schema"
)

// recordingProgram is sentinel on this machine with files of its own, which asks no name server.
func recordingProgram(t *testing.T, config string) Program {
	t.Helper()
	dir := t.TempDir()
	p := Program{
		Open: func() (*host.Host, error) { return local.Open("/") }, ConfigPath: filepath.Join(dir, "etc", "config.yaml"), StateDir: filepath.Join(dir, "state"),
		Journal: quietJournal(dir), Root: true,
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(p.ConfigPath), 0o755), os.WriteFile(p.ConfigPath, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	return p
}

const unasked = "record: {resolver: false}\n"

func (p Program) document(t *testing.T, stdin string, args ...string) (d map[string]any, raw []byte, status int) {
	t.Helper()
	var out, log bytes.Buffer
	status = p.Run(t.Context(), args, strings.NewReader(stdin), &out, &log)
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v: %s%s", err, out.Bytes(), log.Bytes())
	}
	return d, out.Bytes(), status
}

// recordedBefore takes a sample and makes it older.
func (p Program) recordedBefore(t *testing.T, age time.Duration, change func(*recorder.Last)) {
	t.Helper()
	if d, _, status := p.document(t, "", "--record", "--json"); status != 0 || d["recorded"] != true {
		t.Fatalf("%v", d)
	}
	dir := filepath.Join(p.StateDir, "recorder")
	last, err := recorder.ReadLast(dir)
	if err != nil {
		t.Fatal(err)
	}
	last.Sample.Up -= age.Seconds()
	if change != nil {
		change(last)
	}
	if err := last.Save(dir); err != nil {
		t.Fatal(err)
	}
}

func windowOf(t *testing.T, d map[string]any) float64 {
	t.Helper()
	cpu, ok := d["cpu"].(map[string]any)
	if !ok {
		t.Fatalf("%v", d)
	}
	window, _ := cpu["window_ms"].(float64)
	return window
}

func TestHealthGoesByTheLastSample(t *testing.T) {
	for name, c := range map[string]struct {
		age    time.Duration
		change func(*recorder.Last)
		user   bool
		used   bool
	}{
		"half a minute old": {30 * time.Second, nil, false, true},
		"too old":           {2 * time.Minute, nil, false, false},
		"just now":          {-time.Second, nil, false, false},
		"of another boot":   {30 * time.Second, func(l *recorder.Last) { l.Sample.Boot = "other" }, false, false},
		"for a user":        {30 * time.Second, nil, true, false},
		"without its count": {30 * time.Second, func(l *recorder.Last) { l.CPU.All.Total = 0 }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := recordingProgram(t, unasked)
			p.recordedBefore(t, c.age, c.change)
			p.Root = !c.user
			d, raw, status := p.document(t, "", "--json")
			if window := windowOf(t, d); status != 0 || (window >= 30_000) != c.used || window >= 90_000 {
				t.Errorf("measured over %v ms: %s", window, raw)
			}
		})
	}
}

func TestTheLastSampleTellsWhatProcessesHadUsed(t *testing.T) {
	last := &recorder.Last{CPU: health.CPUSample{All: health.CPUTimes{Total: 7000}, Tasks: 6000, Tick: 10 * time.Millisecond}}
	got, err := session{}.baseline(t.Context(), last, time.Minute)
	if err != nil || !got.recorded || got.table.Busy != time.Minute {
		t.Errorf("recorded %v, busy %v, %v", got.recorded, got.table.Busy, err)
	}
}

func TestHealthSaysThatTheResolverWasSilent(t *testing.T) {
	for problem, want := range map[string]bool{"did not answer in time": true, "": false} {
		p := recordingProgram(t, unasked)
		p.recordedBefore(t, 0, func(l *recorder.Last) { l.Resolver = &recorder.Resolver{Server: "192.0.2.53:53", Problem: problem} }) // however young it is
		d, raw, _ := p.document(t, "", "--json")
		said := strings.Contains(string(raw), `"message":"The resolver of this machine did not answer: 192.0.2.53:53 (did not answer in time)."`)
		if figures, _ := d["figures"].(map[string]any); said != want || figures["resolver_silent"] != want {
			t.Errorf("%q: %s", problem, raw)
		}
	}
}

func TestASecondRecorderGoesAway(t *testing.T) {
	p := recordingProgram(t, unasked)
	p.recordedBefore(t, 0, nil)
	release, err := lockfile.Exclude(t.Context(), filepath.Join(p.StateDir, "recorder", "lock"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	d, _, status := p.document(t, "", "--record", "--json")
	release()
	if status != 0 || d["recorded"] != false || d["details"] != "Another run is keeping a sample." {
		t.Errorf("%d, %v", status, d)
	}
	if d, _, status = recordingProgram(t, "record: {enabled: false}\n").document(t, "", "--record", "--json"); status != 0 || d["recorded"] != false {
		t.Errorf("%d, %v", status, d)
	}
}

// What users can hold up is read without the lock, so that a run which hangs keeps no other from its sample.
func TestASampleIsTakenWithoutTheLock(t *testing.T) {
	p := recordingProgram(t, unasked)
	p.recordedBefore(t, time.Minute, nil)
	dir := filepath.Join(p.StateDir, "recorder")
	another := p
	p.Open = func() (*host.Host, error) {
		h, err := local.Open("/")
		if err == nil {
			h.Processes = interrupted{h.Processes, func() { another.recordedBefore(t, 0, nil) }}
		}
		return h, err
	}
	if d, _, _ := p.document(t, "", "--record", "--json"); d["recorded"] != false || d["details"] != "Another run has kept a sample meanwhile." {
		t.Errorf("%v", d)
	}
	samples := 0
	if damaged, err := recorder.NewRing(dir).Records(func(recorder.Record) error { samples++; return nil }); err != nil || damaged != 0 || samples != 2 {
		t.Errorf("%d samples, %d damaged, %v", samples, damaged, err)
	}
}

// interrupted does something while the table of processes is read.
type interrupted struct {
	processes.Source
	by func()
}

func (s interrupted) Table(ctx context.Context) (processes.Table, error) {
	s.by()
	return s.Source.Table(ctx)
}

func TestWithoutARecorderTheAnswerSaysHowToHaveOne(t *testing.T) {
	p := recordingProgram(t, unasked)
	var timer host.Recorder
	p.Open = func() (*host.Host, error) {
		h, err := local.Open("/")
		h.Recorder = timer
		return h, err
	}
	d, _, status := p.document(t, "", "--health-history", "--json")
	if status != fault.ExitFailed || d["fix"] != "Have cron run as root each minute: sentinel --record" {
		t.Errorf("without systemd: %d, %v", status, d)
	}
	d, _, _ = p.document(t, "{}", "--request", "get_health_history")
	if fix := fmt.Sprint(d["fix"]); !strings.Contains(fix, "have cron run sentinel --record as root each minute from then on") {
		t.Errorf("without systemd: %v", d)
	}
	timer = host.Recorder{Job: "sentinel-record.timer", Start: "sudo systemctl enable --now sentinel-record.timer"}
	d, _, status = p.document(t, "", "--health-history", "--json")
	if status != fault.ExitFailed || d["error_code"] != "UNAVAILABLE" || d["fix"] != "Switch it on with: sudo systemctl enable --now sentinel-record.timer" {
		t.Errorf("%d, %v", status, d)
	}
	d, _, status = p.document(t, "{}", "--request", "get_health_history")
	if fix := fmt.Sprint(d["fix"]); status != fault.ExitFailed || strings.Contains(fix, "sudo") || !strings.Contains(fix, "administrator can switch on sentinel-record.timer") {
		t.Errorf("%d, %v", status, d)
	}
	d, _, _ = recordingProgram(t, "record: {enabled: false}\n").document(t, "{}", "--request", "get_health_history")
	if !strings.Contains(fmt.Sprint(d["fix"]), "record: {enabled: true}") {
		t.Errorf("%v", d)
	}
	p.Root = false
	if d, _, status = p.document(t, "", "--record", "--json"); status != fault.ExitPermission || d["error_code"] != "PERMISSION_DENIED" {
		t.Errorf("%d, %v", status, d)
	}
}

func TestAHistoryOfThisMachineMatchesItsSchema(t *testing.T) {
	p := recordingProgram(t, unasked)
	p.recordedBefore(t, 30*time.Second, nil)
	p.recordedBefore(t, 0, nil)
	op, _ := ops.ByName("get_health_history")
	for _, arguments := range []string{`{}`, `{"at":"now"}`, `{"since":"-1h","figure":"load"}`} {
		d, raw, status := p.document(t, arguments, "--request", "get_health_history")
		if status != 0 || d["samples"] != 2.0 {
			t.Errorf("%s: %s", arguments, raw)
		}
		validate(t, schemaOf(op, schema.Brief), raw)
		validate(t, schemaOf(op, schema.Strict), raw)
	}
	for _, arguments := range []string{`{"at":"tomorrow"}`, `{"figure":"luck"}`, `{"since":"today","until":"yesterday"}`} {
		if d, raw, _ := p.document(t, arguments, "--request", "get_health_history"); d["error_code"] != "INVALID_ARGUMENT" {
			t.Errorf("%s: %s", arguments, raw)
		}
	}
}

func TestTheFiguresOfARequestAreThoseOfSamples(t *testing.T) {
	op, _ := ops.ByName("get_health_history")
	field := op.Fields[slices.IndexFunc(op.Fields, func(f ops.Field) bool { return f.Name == "figure" })]
	if diff := cmp.Diff(recorder.Keys(), field.Enum); diff != "" {
		t.Error(diff)
	}
}

// restless is a day in which everything happens all the time.
func restless(figure string) *healthHistoryDocument {
	now := time.Unix(1_800_000_000, 0).UTC()
	r := recorder.Recording{Boot: "b", Up: 48 * time.Hour, Now: now}
	for n := 24*60 - 1; n >= 0; n-- {
		s := recorder.Sample{Time: now.Unix() - 24*3600 + int64(n)*60, Boot: "b", Up: float64(24*3600 + n*60), Span: 60, Figures: map[string]float64{}, Fullest: wide(40)}
		for i, key := range recorder.Keys() {
			s.Figures[key] = float64(i) + 0.25
			if n/20%5 == 0 {
				s.Figures[key] = 1e9 + float64(n)
			}
		}
		s.Busiest = []recorder.Process{{PID: 4_000_000 + n/10, Name: wide(40), User: wide(32), Value: 99.9}}
		s.Events = []recorder.Event{{Kind: recorder.UnitFailed, Text: wide(96)}, {Kind: recorder.Reason, Text: wide(160)}}
		if n%100 < 90 {
			r.Add(s)
		}
	}
	return &healthHistoryDocument{answer.NewHeader("health_history", true), recorder.Tell(r, figure, now.Add(-24*time.Hour), now, nil, -1), figure}
}

func TestAHistoryFitsAModelAndAScreen(t *testing.T) {
	for _, figure := range []string{"", "network_in"} {
		d := restless(figure)
		d.fit()
		raw, err := encode(d, false)
		if err != nil || len(raw) > maxHealthHistory || len(d.Changes) == 0 || d.ChangesTotal < 2000 || d.GapsTotal < 10 || len(d.Figures) != len(recorder.Keys()) {
			t.Errorf("%q: %d bytes, %d changes of %d, %d gaps, %v", figure, len(raw), len(d.Changes), d.ChangesTotal, d.GapsTotal, err)
		}
		if figure != "" && (len(d.Series) != 1 || len(d.Series[0].Buckets) < 40) {
			t.Errorf("%+v", d.Series)
		}
		p := usualScreen(restless(figure))
		if got := string(p.bytes()); !strings.HasPrefix(got, "HISTORY: ") || !p.fits() {
			t.Errorf("%q does not fit:\n%s", figure, got)
		}
	}
	empty := &healthHistoryDocument{}
	if got := string(usualScreen(empty).bytes()); !strings.HasPrefix(got, "UNKNOWN: There is no sample") {
		t.Error(got)
	}
}

func TestALostSampleIsToldWithItsFix(t *testing.T) {
	if f := fault.From(notKept(fmt.Errorf("write: %w", syscall.ENOSPC))); f.Code != fault.Unavailable || !strings.Contains(f.Fix, "--disk-usage") || !strings.Contains(f.Message, "those before it are") {
		t.Errorf("%+v", f)
	}
	if f := fault.From(notKept(errors.New("it can be written by others"))); !strings.Contains(f.Fix, "belongs to root") {
		t.Errorf("%+v", f)
	}
}

// What a crash or somebody leaves of the last sample costs its comparison alone.
func TestADamagedLastSampleIsDoneWithout(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "cut": `{"version":1,"sample":{"t":18`, "another version": `{"version":2}`, "not one": "null", "hostile": `{"version":1,"processes":"1 x -5,"}`} {
		p := recordingProgram(t, unasked)
		p.recordedBefore(t, 30*time.Second, nil)
		last := filepath.Join(p.StateDir, "recorder", "last.json")
		if err := os.WriteFile(last, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, raw, status := p.document(t, "", "--json"); status != 0 || windowOf(t, d) >= 30_000 {
			t.Errorf("%s: %s", name, raw)
		}
		if d, raw, status := p.document(t, "", "--record", "--json"); status != 0 || d["recorded"] != true || !strings.Contains(string(raw), `"field":"last_sample"`) {
			t.Errorf("%s: %s", name, raw)
		}
		if _, err := recorder.ReadLast(filepath.Dir(last)); err != nil {
			t.Errorf("%s: %v after the next sample", name, err)
		}
	}
}
