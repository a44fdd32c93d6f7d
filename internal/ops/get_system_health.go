// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getSystemHealth = Operation{
	Name:   "get_system_health",
	Action: "system_health",
	Alias:  "health",
	Title:  "System health",
	Description: "Get real-time system status: CPU, load, memory, swap, disks, temperature, uptime, failed services, reboot needed, " +
		"firewall status, network connections, listening ports, top processes. Use this first. " +
		"threat_level is explained by threat_reasons; unavailable lists what could not be read. Changes nothing." + dataOnly,
	Usage:      "health of this machine (the default)",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantRead,
	Deadline:   20 * time.Second,
	Preferred:  true,
	Lists:      true,
}
