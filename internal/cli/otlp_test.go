// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/config"
	"sentinel/internal/health"
	"sentinel/internal/host/local"
	"sentinel/internal/network"
	"sentinel/internal/otlp"
	"sentinel/internal/statefile"
)

// seen is what a report of a machine of testdata is made of, with what differs between runs made the same.
func seen(t *testing.T, machine string) (session, *healthDocument) {
	t.Helper()
	h, err := local.Open(filepath.Join("..", "..", "testdata", "hosts", machine))
	if err != nil {
		t.Fatal(err)
	}
	s := session{host: h, config: config.Default(), stateDir: t.TempDir()}
	s.config.Webhook.Tags = map[string]string{"site": "north", "role": "web"}
	d, err := s.lookAtHealth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.Timestamp, d.Hostname, d.Version = "2026-03-01T12:00:00Z", "web1", "0"
	d.AgentID, d.AgentUUID = "SENTINEL-web1", "3f2c0b1e-6f5a-4f1e-9d5b-0a4c5d6e7f80"
	return s, d
}

func TestBodiesForACollector(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the fixture machines are of Linux")
	}
	for _, machine := range []string{"laptop", "container"} {
		s, d := seen(t, machine)
		for p, name := range map[payload]string{metricsPayload: "metrics", logsPayload: "logs"} {
			made, err := s.document(t.Context(), p, d, &outbox{})
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, made.Body, "", " "); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "otlp", machine+"."+name+".json"), append(pretty.Bytes(), '\n'))
		}
	}
}

// An unreadable network has no counters.
type unreadable struct{ network.Source }

// Interfaces implements [network.Source].
func (unreadable) Interfaces(context.Context) ([]network.Interface, error) {
	return nil, errors.New("gone")
}

// Nothing that is unknown has a value, 0 the least of all.
func TestUnknownFiguresAreNotInTheBody(t *testing.T) {
	s, whole := seen(t, "laptop")
	d := &healthDocument{Header: whole.Header, Report: health.Report{ThreatLevel: health.Low, FirewallStatus: "UNKNOWN"}}
	d.Unavailable = answer.Gaps{{Field: "memory", Reason: "not readable"}}
	s.host.Network = unreadable{}
	raw, err := s.metricsBody(t.Context(), d, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range got.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		names = append(names, m.Name)
	}
	if want := []string{"sentinel.threat.level", "sentinel.unavailable"}; !slices.Equal(names, want) || !strings.Contains(string(raw), `"network.interfaces"`) {
		t.Errorf("%q, want %q: %s", names, want, raw)
	}
}

func TestTheVersionIsFoundInTheNameOfASystem(t *testing.T) {
	for name, want := range map[string]string{
		"Debian GNU/Linux 12 (bookworm)": "12", "Ubuntu 24.04.1 LTS": "24.04.1", "macOS 26.6 (25G72)": "26.6", "Alpine Linux v3.22": "3.22", "Arch Linux": "", "": "",
	} {
		if got := versionIn(name); got != want {
			t.Errorf("%q has %q, want %q", name, got, want)
		}
	}
}

// told names the events with what they are about.
func told(events []otlp.Event) (list []string) {
	for _, e := range events {
		text := strings.TrimPrefix(e.Name, "sentinel.")
		for _, a := range e.Attributes {
			if a.Key == "sentinel.reason.code" || a.Key == "sentinel.reason.object" && a.Value != "" || a.Key == "process.executable.name" || a.Key == "sentinel.threat.level" {
				text += " " + a.Value.(string)
			}
		}
		list = append(list, text)
	}
	return list
}

func TestEventsAreWhatHasChanged(t *testing.T) {
	hour, day := int64(3600), int64(86400)
	full := func(at, severity string) health.Reason {
		value := 97.0
		return health.Reason{Code: "DISK_FULL", Severity: severity, Message: "The file system at " + at + " is full.", Object: at, Value: &value}
	}
	unit := health.Reason{Code: "FAILED_UNITS", Severity: health.Warning, Message: "Failed units: 1.", Object: "nginx.service", Culprit: "nginx.service"}
	kill := health.OOMEvent{Process: "mysqld", Unit: "mysql.service", Time: "2026-03-01T03:00:00Z", At: 1000 * time.Second}
	sameKill, laterKill := kill, health.OOMEvent{Process: "java", Time: "2026-03-01T11:30:00Z", At: 2000 * time.Second}
	sameKill.Time = "2026-03-01T11:00:00Z" // the machine was suspended for 8 hours
	sleptKill := health.OOMEvent{Process: "java", At: 2000 * time.Second}
	report := func(level string, uptime *int64, kills []health.OOMEvent, reasons ...health.Reason) *healthDocument {
		return &healthDocument{Header: answer.Header{Timestamp: "2026-03-01T12:00:00Z"}, Report: health.Report{ThreatLevel: level, ThreatReasons: reasons, UptimeSeconds: uptime, OOMEvents: kills}}
	}
	for _, c := range []struct {
		name          string
		before, after *healthDocument
		want          []string
	}{
		{"first", nil, report(health.Warning, &day, []health.OOMEvent{kill}, unit), []string{"report WARNING", "threat_reason.began FAILED_UNITS nginx.service", "oom_kill mysqld"}},
		{"nothing new", report(health.Warning, &hour, []health.OOMEvent{kill}, unit), report(health.Warning, &day, []health.OOMEvent{sameKill}, unit), []string{"report WARNING"}},
		{"another unit", report(health.Warning, &hour, nil, unit), report(health.Warning, &day, nil, health.Reason{Code: unit.Code, Severity: unit.Severity, Object: "x.service"}), []string{"report WARNING"}},
		{"worse", report(health.Warning, &hour, nil, full("/srv", health.Warning)), report(health.Critical, &day, nil, full("/srv", health.Critical)),
			[]string{"report CRITICAL", "threat_level.changed CRITICAL", "threat_reason.changed DISK_FULL /srv"}},
		{"another disk", report(health.Warning, &hour, nil, full("/srv", health.Warning)), report(health.Warning, &day, nil, full("/my data", health.Warning)),
			[]string{"report WARNING", "threat_reason.began DISK_FULL /my data", "threat_reason.ended DISK_FULL /srv"}},
		{"over", report(health.Warning, &hour, nil, full("/my data", health.Warning)), report(health.Low, &day, nil), []string{"report LOW", "threat_level.changed LOW", "threat_reason.ended DISK_FULL /my data"}},
		{"booted", report(health.Low, &day, nil), report(health.Low, &hour, nil), []string{"report LOW", "boot"}},
		{"uptime unknown", report(health.Low, &day, nil), report(health.Low, nil, nil), []string{"report LOW"}},
		{"killed", report(health.Low, &hour, []health.OOMEvent{kill}), report(health.Low, &day, []health.OOMEvent{laterKill, sameKill}), []string{"report LOW", "oom_kill java"}},
		{"killed, and not known when", report(health.Low, &hour, []health.OOMEvent{kill}), report(health.Low, &day, []health.OOMEvent{sleptKill, sameKill}), []string{"report LOW", "oom_kill java"}},
		{"killed in the next boot", report(health.Low, &day, []health.OOMEvent{laterKill}), report(health.Low, &hour, []health.OOMEvent{kill}), []string{"report LOW", "boot", "oom_kill mysqld"}},
	} {
		var before *reported
		if c.before != nil {
			r := newReported(c.before, "")
			before = &r
		}
		if got := told(c.after.events(before, newReported(c.after, ""))); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		before, now string
		uptime      *int64
		want        []string
	}{
		"a crash loop, up for longer each time": {"ab.24", "cd.24", &day, []string{"report LOW", "boot"}},
		"the same boot":                         {"ab.24", "ab.24", &day, []string{"report LOW"}},
		"the same boot, a clock of its own":     {"ab.24", "ab.24", &hour, []string{"report LOW"}},
		"by a version that did not know":        {"", "cd.24", &day, []string{"report LOW"}},
		"since when is not known":               {"ab.24", "cd.24", nil, []string{"report LOW"}},
	} {
		before := newReported(report(health.Low, &hour, nil), c.before)
		after := report(health.Low, c.uptime, nil)
		if got := told(after.events(&before, newReported(after, c.now))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	boot := report(health.Low, &hour, nil).events(&reported{Level: health.Low, Uptime: &day}, reported{Level: health.Low, Uptime: &hour})[1]
	if want := time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC); !boot.At.Equal(want) {
		t.Errorf("started %v, want %v", boot.At, want)
	}
}

// delivered is the body of a report that has arrived, so that the next one is compared with it.
func (s session) delivered(t *testing.T, p payload, d *healthDocument) string {
	t.Helper()
	var made outbox
	raw, err := s.document(t.Context(), p, d, &made)
	if err != nil {
		t.Fatal(err)
	}
	if notes := s.remember(made.next, []route{{payload: logsPayload}}, []delivery{{State: stateDelivered}}); notes != nil {
		t.Fatal(notes)
	}
	return string(raw.Body)
}

// Another start would mean that the counters began anew.
func TestTheStartOfCountersStaysWithinABoot(t *testing.T) {
	s, d := seen(t, "laptop")
	report := func(timestamp string, uptime *int64) string {
		t.Helper()
		d.Timestamp, d.UptimeSeconds = timestamp, uptime
		_, rest, _ := strings.Cut(s.delivered(t, metricsPayload, d), `"startTimeUnixNano":"`)
		start, _, _ := strings.Cut(rest, `"`)
		return start
	}
	hour := int64(3600)
	const first = "1772362800000000000" // 2026-03-01T11:00:00Z
	for i, c := range []struct {
		timestamp, want string
		uptime          *int64
	}{
		{"2026-03-01T12:00:00Z", first, &hour},
		{"2026-03-01T12:00:01Z", first, &hour}, // the second went on between the two readings
		{"2026-03-01T11:59:59Z", first, &hour},
		{"2026-03-01T12:05:00Z", first, nil},
		{"2026-03-01T10:00:00Z", "1772355600000000000", &hour}, // the clock was set back: it cannot have been later
	} {
		if got := report(c.timestamp, c.uptime); got != c.want {
			t.Errorf("report %d: %s, want %s", i, got, c.want)
		}
	}
	booted := newReported(d, "another")
	booted.carryOver(reported{Boot: "this", Start: time.Unix(1, 0)}, d)
	if want := d.moment().Add(-time.Hour); !booted.Start.Equal(want) {
		t.Errorf("in another boot: %v, want %v", booted.Start, want)
	}
}

// A report that cannot read the kernel's log has not forgotten what the one before told of it.
func TestAKillIsToldOnceThoughTheLogCouldNotBeRead(t *testing.T) {
	s, d := seen(t, "laptop")
	report := func(kills ...time.Duration) (told int) {
		t.Helper()
		d.OOMEvents = nil
		for _, at := range kills {
			d.OOMEvents = append(d.OOMEvents, health.OOMEvent{Process: "java", At: at})
		}
		return strings.Count(s.delivered(t, logsPayload, d), "java was killed")
	}
	for i, c := range []struct {
		kills []time.Duration
		want  int
	}{
		{[]time.Duration{time.Hour}, 1},
		{nil, 0},
		{[]time.Duration{time.Hour}, 0},
		{[]time.Duration{2 * time.Hour, time.Hour}, 1},
	} {
		if got := report(c.kills...); got != c.want {
			t.Errorf("report %d tells of %d, want %d", i, got, c.want)
		}
	}
	for _, before := range []reported{{Boot: "another", Killed: time.Hour}, {Killed: time.Hour}} {
		next := newReported(d, "this")
		next.Killed = time.Minute
		if next.carryOver(before, d); next.Killed != time.Minute {
			t.Errorf("after the boot %q: %v", before.Boot, next.Killed)
		}
	}
}

// What could not be read has not ended, and does not begin when it can be read again.
func TestAReasonGoesOnWhileItCannotBeRead(t *testing.T) {
	s, d := seen(t, "laptop")
	report := func(gaps answer.Gaps, reasons ...health.Reason) []string {
		t.Helper()
		d.ThreatReasons, d.Unavailable, d.ThreatLevel, d.OOMEvents = reasons, gaps, health.Low, nil
		if len(reasons) > 0 {
			d.ThreatLevel = health.Warning
		}
		var made outbox
		raw, err := s.document(t.Context(), logsPayload, d, &made)
		if err != nil {
			t.Fatal(err)
		}
		if notes := s.remember(made.next, []route{{payload: logsPayload}}, []delivery{{State: stateDelivered}}); notes != nil {
			t.Fatal(notes)
		}
		var found []string
		for _, name := range []string{"began", "changed", "ended"} {
			if strings.Contains(string(raw.Body), "sentinel.threat_reason."+name) {
				found = append(found, name)
			}
		}
		if strings.Contains(string(raw.Body), "sentinel.threat_level.changed") {
			found = append(found, "level")
		}
		return found
	}
	full := health.Reason{Code: "DISK_FULL", Severity: health.Warning, Message: "Full.", Object: "/srv"}
	for i, c := range []struct {
		gaps    answer.Gaps
		reasons []health.Reason
		want    []string
	}{
		{nil, []health.Reason{full}, []string{"began"}},
		{answer.Gaps{{Field: "pressure"}, {Field: "disks./srv"}}, nil, nil},
		{answer.Gaps{{Field: "disks"}}, nil, nil},
		{nil, []health.Reason{full}, nil},
		{answer.Gaps{{Field: "pressure"}}, nil, []string{"ended", "level"}},
	} {
		if got := report(c.gaps, c.reasons...); !slices.Equal(got, c.want) {
			t.Errorf("report %d: %q, want %q", i, got, c.want)
		}
	}
}

// The name of a process says nothing of whose it was.
func TestAKillHasTheUserOfTheProcess(t *testing.T) {
	d := &healthDocument{Report: health.Report{OOMEvents: []health.OOMEvent{{Process: "mysqld", Unit: "user@1500.service/mysql.service", User: "bob", Time: "2026-03-01T11:00:00Z", At: time.Second}}}}
	want := []otlp.Attribute{
		{Key: "process.executable.name", Value: "mysqld"}, {Key: "sentinel.unit", Value: "user@1500.service/mysql.service"}, {Key: "process.owner", Value: "bob"},
	}
	if got := d.killEvents(0); len(got) != 1 || !slices.Equal(got[0].Attributes, want) {
		t.Errorf("%+v", got)
	}
}

// An event that was neither taken nor kept is told by the next report.
func TestEventsThatAreLostAreToldAgain(t *testing.T) {
	s := session{stateDir: t.TempDir()}
	routes := []route{{payload: metricsPayload}, {payload: logsPayload}}
	next := reported{Version: 1, Level: health.Low}
	for _, c := range []struct {
		logs string
		kept bool
	}{{stateFailed, false}, {stateQueued, true}, {stateDelivered, true}} {
		os.Remove(filepath.Join(s.stateDir, reportedFile))
		notes := s.remember(next, routes, []delivery{{State: stateFailed}, {State: c.logs}})
		before, err := s.lastReported()
		if err != nil || len(notes) > 0 || (before != nil) != c.kept {
			t.Errorf("%s: %v, %v, %q", c.logs, before, err, notes)
		}
	}
	if notes := s.remember(next, routes[:1], []delivery{{State: stateDelivered}}); notes != nil {
		t.Errorf("without logs: %q", notes)
	}
}

func TestAStateThatCannotBeReadIsSaidAndTakenForNone(t *testing.T) {
	s, d := seen(t, "laptop")
	path := filepath.Join(s.stateDir, reportedFile)
	for content, want := range map[string]error{`{"version":2,"level":"LOW","reasons":{}}`: statefile.ErrForm, `{"version":1,"level":"BAD","reasons":{}}`: statefile.ErrForm, `{`: statefile.ErrDamaged} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.lastReported(); !errors.Is(err, want) {
			t.Errorf("%s: %v", content, err)
		}
		var made outbox
		if _, err := s.document(t.Context(), logsPayload, d, &made); err != nil || len(made.notes) != 1 || made.next.Level != d.ThreatLevel {
			t.Errorf("%s: %v, %+v", content, err, made)
		}
	}
}

// A Collector alone is somebody to report to, for the doctor too.
func TestTheDoctorCountsTheCollector(t *testing.T) {
	s := session{config: config.Default()}
	for endpoint, want := range map[string]int{"": 0, "https://otel.example.com": 1} {
		s.config.OTLP.Endpoint = endpoint
		if r, err := s.reports(t.Context()); err != nil || r.Endpoints != want {
			t.Errorf("%q: %+v, %v", endpoint, r, err)
		}
	}
}
