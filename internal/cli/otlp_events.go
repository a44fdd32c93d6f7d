// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/otlp"
	"sentinel/internal/statefile"
)

// A reported is what a report said, for the next one to tell what has changed since.
type reported struct {
	Version int                `json:"version"`
	Level   string             `json:"level"`
	Reasons map[string]lasting `json:"reasons"`        // by what tells one from another
	Boot    string             `json:"boot,omitempty"` // which one it was; absent where that is not known
	Start   time.Time          `json:"start,omitzero"` // of that boot, as it was told first
	Uptime  *int64             `json:"uptime_seconds,omitempty"`
	Killed  time.Duration      `json:"killed_at,omitempty"` // of the last process that was killed for want of memory, as health.OOMEvent has it
}

// A lasting reason goes on until it is gone.
type lasting struct {
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// Check implements [statefile.State].
func (r reported) Check() error {
	if r.Version != 1 || !slices.Contains(levels, r.Level) {
		return statefile.ErrForm
	}
	return nil
}

const (
	reportedFile  = "reported.json"
	reportedLimit = 64 // KiB
)

// lastReported returns what the last report said; nil without one.
func (s session) lastReported() (*reported, error) {
	last, err := statefile.Read[reported](filepath.Join(s.stateDir, reportedFile), reportedLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &last, nil
}

// remember keeps what was reported once its events have arrived, or wait to be sent again. An event that is
// lost before is told by the next report.
func (s session) remember(next reported, routes []route, sent []delivery) (notes []string) {
	at := slices.IndexFunc(routes, func(r route) bool { return r.payload == logsPayload })
	if at < 0 || sent[at].State == stateFailed {
		return nil
	}
	if err := statefile.Write(filepath.Join(s.stateDir, reportedFile), next, reportedLimit); err != nil {
		notes = append(notes, "What this report said is not kept, so that the next one tells it again: "+err.Error())
	}
	return notes
}

func newReported(d *healthDocument, boot string) reported {
	r := reported{Version: 1, Level: d.ThreatLevel, Reasons: map[string]lasting{}, Boot: boot, Uptime: d.UptimeSeconds}
	for _, reason := range d.ThreatReasons {
		r.Reasons[reasonIdentity(reason)] = lasting{reason.Severity, reason.Message}
	}
	if d.UptimeSeconds != nil {
		r.Start = d.moment().Add(-time.Duration(*d.UptimeSeconds) * time.Second)
	}
	for _, e := range d.OOMEvents {
		r.Killed = max(r.Killed, e.At)
	}
	return r
}

// carryOver keeps what the report before has said and still holds. Reasons may stand all the same where what they
// rest on could not be read this time, and the level with them, and kills that were told are told whether or not they
// are found again. When the machine was started is counted back from another now each time, and to a Collector another
// start means that the counters began anew.
func (r *reported) carryOver(before reported, d *healthDocument) {
	for id, was := range before.Reasons {
		code, object, _ := strings.Cut(id, " ")
		if _, stands := r.Reasons[id]; !stands && d.Unread(code, object, d.Unavailable) {
			r.Reasons[id] = was
			if slices.Index(levels, was.Severity) > slices.Index(levels, r.Level) {
				r.Level = was.Severity
			}
		}
	}
	if r.Boot == "" || r.Boot != before.Boot {
		return
	}
	r.Killed = max(r.Killed, before.Killed)
	if !before.Start.IsZero() && !before.Start.After(d.moment()) {
		r.Start = before.Start
	}
}

// reasonIdentity tells the reasons of one code apart where there can be several: by their file systems.
func reasonIdentity(r health.Reason) string {
	if strings.HasPrefix(r.Object, "/") {
		return r.Code + " " + r.Object
	}
	return r.Code
}

// killedAt is zero where it is not known.
func killedAt(e health.OOMEvent) time.Time {
	at, err := time.Parse(time.RFC3339, e.Time)
	if err != nil {
		return time.Time{}
	}
	return at
}

// severities are those of OTLP for threat levels and reasons.
var severities = map[string]otlp.Severity{health.Low: otlp.Info, health.Warning: otlp.Warn, health.Critical: otlp.Error}

// events are the report itself and what has changed since the one before, which is nil for the first.
func (d *healthDocument) events(before *reported, now reported) []otlp.Event {
	events := []otlp.Event{d.reportEvent()}
	if before == nil {
		before = &reported{Level: now.Level}
	}
	if now.Uptime != nil && now.bootedSince(*before) {
		events = append(events, otlp.Event{
			Name: "sentinel.boot", At: d.moment().Add(-time.Duration(*now.Uptime) * time.Second), Severity: otlp.Info, Text: "The machine was started.",
		})
	}
	if before.Level != now.Level {
		events = append(events, otlp.Event{
			Name: "sentinel.threat_level.changed", Severity: severities[now.Level], Text: fmt.Sprintf("The threat level is %s; it was %s.", now.Level, before.Level),
			Attributes: []otlp.Attribute{{Key: "sentinel.threat.level", Value: now.Level}, {Key: "sentinel.threat.level.before", Value: before.Level}},
		})
	}
	events = append(events, d.reasonEvents(*before)...)
	for _, id := range slices.Sorted(maps.Keys(before.Reasons)) {
		if _, goesOn := now.Reasons[id]; !goesOn {
			events = append(events, ended(id, before.Reasons[id]))
		}
	}
	told := before.Killed
	if now.bootedSince(*before) {
		told = 0
	}
	return append(events, d.killEvents(told)...)
}

// bootedSince reports whether the machine was started between two reports. One that crashes again and again
// may have been up for longer than the time before, so the time since boot only decides where it is not known
// which boot it was.
func (r reported) bootedSince(before reported) bool {
	if r.Boot != "" && before.Boot != "" {
		return r.Boot != before.Boot
	}
	return before.Uptime != nil && r.Uptime != nil && *r.Uptime < *before.Uptime
}

// reportEvent says in every report how the machine is doing, so that one that fell silent is noticed.
func (d *healthDocument) reportEvent() otlp.Event {
	codes := []string{}
	sentences := []string{"The threat level is " + d.ThreatLevel + "."}
	for _, r := range d.ThreatReasons {
		codes = append(codes, r.Code)
		sentences = append(sentences, r.Message)
	}
	return otlp.Event{
		Name: "sentinel.report", Severity: severities[d.ThreatLevel], Text: strings.Join(sentences, " "),
		Attributes: []otlp.Attribute{{Key: "sentinel.threat.level", Value: d.ThreatLevel}, {Key: "sentinel.reason.codes", Value: codes}},
	}
}

// reasonEvents are of reasons that are new, or of another severity than before.
func (d *healthDocument) reasonEvents(before reported) (events []otlp.Event) {
	for _, r := range d.ThreatReasons {
		was, known := before.Reasons[reasonIdentity(r)]
		if known && was.Severity == r.Severity {
			continue
		}
		e := otlp.Event{Name: "sentinel.threat_reason.began", Severity: severities[r.Severity], Text: r.Message, Attributes: reasonAttributes(r)}
		if known {
			e.Name = "sentinel.threat_reason.changed"
			e.Attributes = append(e.Attributes, otlp.Attribute{Key: "sentinel.reason.severity.before", Value: was.Severity})
		}
		events = append(events, e)
	}
	return events
}

func reasonAttributes(r health.Reason) []otlp.Attribute {
	list := []otlp.Attribute{
		{Key: "sentinel.reason.code", Value: r.Code}, {Key: "sentinel.reason.severity", Value: r.Severity},
		{Key: "sentinel.reason.object", Value: r.Object}, {Key: "sentinel.reason.culprit", Value: r.Culprit},
	}
	if r.Value != nil {
		list = append(list, otlp.Attribute{Key: "sentinel.reason.value", Value: *r.Value})
	}
	if r.Threshold != nil {
		list = append(list, otlp.Attribute{Key: "sentinel.reason.threshold", Value: *r.Threshold})
	}
	return list
}

func ended(id string, was lasting) otlp.Event {
	code, object, _ := strings.Cut(id, " ")
	return otlp.Event{
		Name: "sentinel.threat_reason.ended", Severity: otlp.Info, Text: "No longer: " + was.Message,
		Attributes: []otlp.Attribute{{Key: "sentinel.reason.code", Value: code}, {Key: "sentinel.reason.severity", Value: was.Severity}, {Key: "sentinel.reason.object", Value: object}},
	}
}

// killEvents are of processes killed for want of memory since the last one that was told, the oldest first.
func (d *healthDocument) killEvents(told time.Duration) (events []otlp.Event) {
	for _, k := range slices.Backward(d.OOMEvents) {
		if k.At > told {
			events = append(events, otlp.Event{
				Name: "sentinel.oom_kill", At: killedAt(k), Severity: otlp.Error, Text: k.Process + " was killed for want of memory.",
				Attributes: []otlp.Attribute{{Key: "process.executable.name", Value: k.Process}, {Key: "sentinel.unit", Value: k.Unit}, {Key: "process.owner", Value: k.User}},
			})
		}
	}
	return events
}
