// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/deadline"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/otlp"
	"sentinel/internal/sanitize"
	"sentinel/internal/webhook"
)

// A payload is what a receiver gets of a report.
type payload int

const (
	webhookPayload payload = iota // the health document
	metricsPayload
	logsPayload
)

// collector returns the routes to the OpenTelemetry Collector of the configuration; none without one.
func (s session) collector() ([]route, error) {
	c := s.config.OTLP
	if c.Endpoint == "" {
		return nil, nil
	}
	var routes []route
	for _, signal := range []struct {
		payload payload
		at      config.Endpoint
	}{{metricsPayload, c.Metrics()}, {logsPayload, c.Logs()}} {
		endpoint, err := webhook.Collector(signal.at, s.config.Webhook, s.secrets)
		if err != nil {
			return nil, err
		}
		routes = append(routes, s.spooled(signal.payload, endpoint))
	}
	return routes, nil
}

// document encodes what was seen.
func (s session) document(ctx context.Context, p payload, d *healthDocument, made *outbox) (webhook.Document, error) {
	var body []byte
	var err error
	switch p {
	case webhookPayload:
		return s.webhookDocument(d)
	case metricsPayload:
		s.compare(d, made)
		body, err = s.metricsBody(ctx, d, made.next.Start)
	case logsPayload:
		s.compare(d, made)
		body, err = otlp.Logs{Observed: d.moment(), Events: d.events(made.before, made.next)}.Body(s.resource(ctx, d))
	default:
		err = errors.New("a report without a payload")
	}
	return webhook.Document{ID: webhook.NewID(), Body: body}, err
}

// compare makes what this report says of what the one before has said, once for all payloads.
func (s session) compare(d *healthDocument, made *outbox) {
	if made.next.Version != 0 {
		return
	}
	before, reason := s.lastReported()
	if reason != nil {
		made.notes = append(made.notes, "What the last report said is not known, so that what goes on counts as new: "+reason.Error())
	}
	boot, unknown := s.boot()
	if unknown != nil {
		boot = "" // the time since boot has to do
	}
	made.before, made.next = before, newReported(d, boot)
	if before != nil {
		made.next.carryOver(*before, d)
	}
}

// moment is when the machine was looked at; zero if the document does not tell.
func (d *healthDocument) moment() time.Time {
	at, err := time.Parse(time.RFC3339, d.Timestamp)
	if err != nil {
		return time.Time{}
	}
	return at
}

// resource identifies this machine by the semantic conventions. machine-id(5) is confidential, so the
// random ID of this installation stands for it.
func (s session) resource(ctx context.Context, d *healthDocument) otlp.Resource {
	name, _ := deadline.Call(ctx, partLimit, s.osVersion) //nolint:errcheck // an attribute that is not known is left out
	attributes := []otlp.Attribute{
		{Key: "service.name", Value: "sentinel"}, {Key: "service.version", Value: d.Version}, {Key: "service.instance.id", Value: d.AgentUUID},
		{Key: "host.name", Value: d.Hostname}, {Key: "host.id", Value: d.AgentUUID},
		{Key: "os.type", Value: s.host.OS}, {Key: "os.description", Value: sanitize.Text(name, 128)}, {Key: "os.version", Value: sanitize.Text(versionIn(name), 32)},
		{Key: "sentinel.agent.id", Value: d.AgentID},
	}
	tags := s.config.Webhook.Tags
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		attributes = append(attributes, otlp.Attribute{Key: "sentinel.tag." + tag, Value: tags[tag]})
	}
	return otlp.Resource{Attributes: attributes, Scope: "sentinel", Version: d.Version}
}

// versionIn finds the version in the name of a system, such as "Debian GNU/Linux 12 (bookworm)"; "" in one
// that has none.
func versionIn(name string) string {
	for word := range strings.FieldsSeq(name) {
		if word = strings.TrimPrefix(word, "v"); word != "" && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return ""
}

// Instruments of what only this program knows.
var (
	threatLevel  = otlp.Instrument{Name: "sentinel.threat.level", Unit: "1", Description: "How the host is doing: 0 for LOW, 1 for WARNING, 2 for CRITICAL."}
	threatReason = otlp.Instrument{Name: "sentinel.threat.reason", Unit: "1", Description: "Why the level is above LOW; 1 for each reason."}
	missing      = otlp.Instrument{Name: "sentinel.unavailable", Unit: "1", Description: "What could not be read; 1 for each field."}
)

// metricsBody is the body with the figures of a report, and the counters of the interfaces, which count since then.
func (s session) metricsBody(ctx context.Context, d *healthDocument, since time.Time) ([]byte, error) {
	m := &otlp.Metrics{At: d.moment(), Since: since}
	m.Int(threatLevel, uint64(slices.Index(levels, d.ThreatLevel)))
	for _, r := range d.ThreatReasons {
		m.Int(threatReason, 1, otlp.Attribute{Key: "sentinel.reason.code", Value: r.Code}, otlp.Attribute{Key: "sentinel.reason.severity", Value: r.Severity})
	}
	d.Report.Observe(m)
	if d.Connections != nil {
		d.Connections.Observe(m)
	}
	gaps := slices.Clone(d.Unavailable)
	found, err := deadline.Call(ctx, partLimit, s.host.Network.Interfaces)
	gaps.Add("network.interfaces", err)
	network.Observe(found, m)
	for _, gap := range gaps {
		for _, field := range gap.Fields() {
			m.Int(missing, 1, otlp.Attribute{Key: "sentinel.field", Value: field})
		}
	}
	return m.Body(s.resource(ctx, d))
}

// levels are the threat levels, the lowest first.
var levels = []string{health.Low, health.Warning, health.Critical}
