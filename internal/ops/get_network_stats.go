// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getNetworkStats = Operation{
	Name:   "get_network_stats",
	Action: "network_stats",
	Flag:   "network-stats",
	Alias:  "network",
	Title:  "Network statistics",
	Description: "Get traffic and errors of each network interface, and connection counts. Use for bandwidth monitoring or network troubleshooting. " +
		"Counters run since boot, rates are measured over half a second; totals leave out loopback. " +
		"connections counts TCP and UDP sockets, not Unix sockets. Changes nothing." + dataOnly,
	Usage:      "traffic of each interface and connection counts",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  AnyUser,
	Deadline:   15 * time.Second,
	Preferred:  true,
	Lists:      true,
}
