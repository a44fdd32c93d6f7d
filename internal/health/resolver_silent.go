// SPDX-License-Identifier: Apache-2.0

package health

import "sentinel/internal/prometheus"

// ResolverSilent is the key of [resolverSilent] for readers.
const ResolverSilent = "resolver_silent"

// resolverSilent goes by the last question of the recorder: a report sends nothing by itself. Without a
// name server nothing on the machine reaches another by its name, which looks like a fault of each
// program.
var resolverSilent = Figure{
	Key:          ResolverSilent,
	Help:         "a name server that did not answer the last question of the recorder",
	Member:       Bool,
	Default:      Threshold{Severity: "warning"},
	Code:         "RESOLVER_SILENT",
	Message:      "The resolver of this machine did not answer.",
	Metric:       Metric{Name: "sentinel_resolver_silent", Kind: prometheus.Gauge},
	LineInReason: true,
	Title:        "resolver",
	Text: func(r *Report) string {
		if r.readings[ResolverSilent].Value == 0 {
			return ""
		}
		return listed(r.readings[ResolverSilent].Names) + " does not answer"
	},
}
