// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getFleetHealth = Operation{
	Name:   "get_fleet_health",
	Action: "fleet_health",
	Flag:   "fleet-health",
	Alias:  "fleet",
	Title:  "Fleet health",
	Description: "Health of all configured machines at once, worst first: threat level, gravest reason, CPU, memory, fullest disk; " +
		"those that did not answer, with why. Use first when several machines may be concerned, then ask one with host. Changes nothing." + dataOnly,
	Usage:      "health of several machines, worst first (--host NAME for each, or hosts in the configuration)",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  AnyUser,
	Deadline:   35 * time.Second,
	Fields: []Field{
		{Name: "skip_local", Flag: "skip-local", Kind: Boolean, Default: false, Description: "Leave out this machine"},
	},
}

// OfFleet reports whether an operation is about several machines, and so of no use without others.
func (o Operation) OfFleet() bool { return o.Name == getFleetHealth.Name }
