// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getHealthHistory = Operation{
	Name:   "get_health_history",
	Action: "health_history",
	Flag:   "health-history",
	Title:  "Health history",
	Description: "Tell what changed on this machine at a time in the last week, by its recorder: figures that rose, busy and growing processes, OOM kills, failed units, boots, changes, in order; " +
		"with minimum, mean and maximum of each figure. Without a time: the last 24 hours. Changes nothing." + dataOnly,
	Usage:      "what changed, and when, in the last week",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Grant:      GrantState,
	Deadline:   20 * time.Second,
	Lists:      true,
	Fields: []Field{
		{Name: "at", Flag: "at", Placeholder: "TIME", Kind: Text, MaxLength: 64, Description: "The hour around it"},
		since,
		{Name: "until", Flag: "until", Placeholder: "TIME", Kind: Text, MaxLength: 64, Description: "As since; default now"},
		{
			Name: "figure", Flag: "figure", Placeholder: "FIGURE", Kind: Text, Description: "Its course",
			Enum: []string{
				"load", "cpu", "iowait", "steal", "memory", "swap", "pressure_cpu", "pressure_memory", "pressure_io", "disk", "inodes", "disk_read", "disk_write", "network_in", "network_out",
				"connections", "retransmits", "temperature", "processes", "zombies", "open_files", "failed_units", "resolver_ms",
			},
		},
	},
}
