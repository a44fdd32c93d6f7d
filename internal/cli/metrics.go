// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"sentinel/internal/health"
	"sentinel/internal/prometheus"
	"sentinel/internal/version"
)

// A metered document can be shown as metrics.
type metered interface {
	metrics(p *prometheus.Page)
}

// metrics are the numbers of the document. What is unknown has no sample, and is
// named by sentinel_unavailable.
func (d *healthDocument) metrics(p *prometheus.Page) {
	p.Add("sentinel_info", "The program and the host that it looks at; always 1.", prometheus.Gauge, 1,
		prometheus.Label{Name: "version", Value: version.Number}, prometheus.Label{Name: "agent_id", Value: d.AgentID}, prometheus.Label{Name: "agent_uuid", Value: d.AgentUUID})
	if at, err := time.Parse(time.RFC3339, d.Timestamp); err == nil {
		p.Add("sentinel_collected_timestamp_seconds", "When the host was looked at, in seconds since 1970.", prometheus.Gauge, float64(at.Unix()))
	}
	p.StateSet("sentinel_threat_level", "How the host is doing: 1 for the level that it has.", "level", d.ThreatLevel, health.Low, health.Warning, health.Critical)
	for _, r := range d.ThreatReasons {
		p.Add("sentinel_threat_reason", "Why the level is above LOW; 1 for each reason.", prometheus.Gauge, 1,
			prometheus.Label{Name: "code", Value: r.Code}, prometheus.Label{Name: "severity", Value: r.Severity})
	}
	d.Meter(p)
	if c := d.Connections; c != nil {
		p.Add("sentinel_flows", "Connections, without those that listen.", prometheus.Gauge, float64(c.FlowsTotal))
		p.Add("sentinel_listening", "Sockets that wait for connections or packets.", prometheus.Gauge, float64(c.ListeningTotal))
	}
	for _, gap := range d.Unavailable {
		p.Add("sentinel_unavailable", "What could not be read; 1 for each field.", prometheus.Gauge, 1, prometheus.Label{Name: "field", Value: gap.Field})
	}
}
