// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"reflect"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/health"
	"sentinel/internal/ops"
	"sentinel/internal/prometheus"
	"sentinel/internal/version"
)

// A metered document can be shown as metrics. Pages of different operations may be
// exported side by side, so no metric is on two of them.
type metered interface {
	metrics(p *prometheus.Page)
}

// hasMetrics says whether the operation answers with a metered document.
func hasMetrics(op ops.Operation) bool {
	result := operations()[op.Name].result
	return result != nil && result.Implements(reflect.TypeFor[metered]())
}

// metrics are the numbers of the document. What is unknown has no sample, and is
// named by sentinel_unavailable.
func (d *healthDocument) metrics(p *prometheus.Page) {
	p.Add("sentinel_info", "The program and the host that it looks at; always 1.", prometheus.Gauge, 1,
		prometheus.Label{Name: "version", Value: version.Number}, prometheus.Label{Name: "agent_id", Value: d.AgentID}, prometheus.Label{Name: "agent_uuid", Value: d.AgentUUID})
	moment(p, "sentinel_collected_timestamp_seconds", "When the host was looked at, in seconds since 1970.", d.Header, 0)
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
	d.kept.metrics(p)
	for _, gap := range d.Unavailable {
		for _, field := range gap.Fields() {
			p.Add("sentinel_unavailable", "What could not be read; 1 for each field.", prometheus.Gauge, 1, prometheus.Label{Name: "field", Value: field})
		}
	}
}

// moment adds the time of a document, or one that lies so many seconds before it.
func moment(p *prometheus.Page, name, help string, h answer.Header, before int64) {
	if at, err := time.Parse(time.RFC3339, h.Timestamp); err == nil {
		p.Add(name, help, prometheus.Gauge, float64(at.Unix()-before))
	}
}

// truth is how Prometheus writes yes and no.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
