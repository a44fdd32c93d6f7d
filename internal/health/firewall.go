// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"

	"sentinel/internal/prometheus"
)

// The states of a firewall, as package firewall has them.
const (
	firewallActive   = "ACTIVE"
	firewallDisabled = "DISABLED"
	firewallUnknown  = "UNKNOWN"
)

// firewall is either on or off; an unknown state is not a reason.
var firewall = Figure{
	Key:     "firewall_disabled",
	Help:    "a firewall known to be off",
	Default: Threshold{Severity: "warning"},
	Code:    "FIREWALL_DISABLED",
	Message: "The firewall is off.",
	Value: func(r *Report) *float64 {
		off := 0.0
		switch r.FirewallStatus {
		case firewallActive:
		case firewallDisabled:
			off = 1
		default:
			return nil
		}
		return &off
	},
	Metrics: func(r *Report, p *prometheus.Page) {
		p.StateSet("sentinel_firewall_status", "Whether a firewall protects the host: 1 for the status that it has.", "status", r.FirewallStatus, firewallActive, firewallDisabled, firewallUnknown)
	},
	LineInReason: true,
	Title:        "firewall",
	Text:         func(r *Report) string { return strings.ToLower(r.FirewallStatus) + ": " + r.FirewallEvidence },
}
