// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"sentinel/internal/exposition"
	"sentinel/internal/health"
	"sentinel/internal/version"
)

// A metered document can be shown as metrics.
type metered interface {
	metrics(p *exposition.Page)
}

// metrics are the numbers of the document. What is unknown has no sample, and is
// named by sentinel_unavailable.
func (d *healthDocument) metrics(p *exposition.Page) {
	p.Add("sentinel_info", "The program and the host that it looks at; always 1.", exposition.Gauge, 1,
		exposition.Label{Name: "version", Value: version.Number}, exposition.Label{Name: "agent_id", Value: d.AgentID}, exposition.Label{Name: "agent_uuid", Value: d.AgentUUID})
	if at, err := time.Parse(time.RFC3339, d.Timestamp); err == nil {
		p.Add("sentinel_collected_timestamp_seconds", "When the host was looked at, in seconds since 1970.", exposition.Gauge, float64(at.Unix()))
	}
	p.OneOf("sentinel_threat_level", "How the host is doing: 1 for the level that it has.", "level", d.ThreatLevel, health.Low, health.Warning, health.Critical)
	for _, r := range d.ThreatReasons {
		p.Add("sentinel_threat_reason", "Why the level is above LOW; 1 for each reason.", exposition.Gauge, 1,
			exposition.Label{Name: "code", Value: r.Code}, exposition.Label{Name: "severity", Value: r.Severity})
	}
	d.Meter(p)
	if c := d.Connections; c != nil {
		p.Add("sentinel_flows", "Connections, without those that listen.", exposition.Gauge, float64(c.FlowsTotal))
		p.Add("sentinel_listening", "Sockets that wait for connections or packets.", exposition.Gauge, float64(c.ListeningTotal))
	}
	for _, gap := range d.Unavailable {
		p.Add("sentinel_unavailable", "What could not be read; 1 for each field.", exposition.Gauge, 1, exposition.Label{Name: "field", Value: gap.Field})
	}
}
