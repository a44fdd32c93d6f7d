// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getTopProcesses = Operation{
	Name:   "get_top_processes",
	Action: "top_processes",
	Flag:   "top",
	Title:  "Top processes",
	Description: "Get top CPU/memory consuming processes. Use when user asks what's using resources or system is slow. " +
		"cpu_percent is measured over half a second (100 = one core). start_id names a process for good, while its PID may become another's. " +
		"Changes nothing." + dataOnly,
	Usage:      "processes that use the most CPU or memory",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  AnyUser,
	Deadline:   15 * time.Second,
	Preferred:  true,
	Lists:      true,
	Fields: []Field{
		{
			Name: "count", Flag: "top-count", Kind: Integer, Min: 1, Max: 100, Default: int64(10),
			Description: "Number of processes to return",
		},
		{
			Name: "sort", Flag: "sort", Kind: Text, Enum: []string{"cpu", "memory"}, Default: "cpu",
			Description: "Rank by CPU or by resident memory",
		},
	},
}
