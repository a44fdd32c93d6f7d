// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getSystemHealth = Operation{
	Name:   "get_system_health",
	Action: "system_health",
	Alias:  "health",
	Title:  "System health",
	Description: "Get real-time system status including CPU load, temperature, memory, firewall status, and active network connections. " +
		"Use this first to assess system state. " +
		"threat_level is explained by threat_reasons; unavailable lists what could not be read here. Changes nothing.",
	Usage:      "health of this machine (the default)",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Deadline:   20 * time.Second,
	Lists:      true,
}
