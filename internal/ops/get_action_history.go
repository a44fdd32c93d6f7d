// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getActionHistory = Operation{
	Name:   "get_action_history",
	Action: "action_history",
	Flag:   "history",
	Title:  "Action history",
	Description: "List what Sentinel has changed on this machine, newest first: when, what, who asked, why, and how it ended. " +
		"unknown means that the run was cut off before it could say. Changes nothing." + dataOnly,
	Usage:      "what was changed, by whom, why and with what outcome",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Grant:      GrantRead,
	Deadline:   15 * time.Second,
	Codes:      []string{"JOURNAL_FAILED"},
	Fields: []Field{
		{
			Name: "last", Flag: "last", Kind: Integer, Min: 1, Max: 500, Default: int64(20),
			Description: "Number of actions to return",
		},
	},
}
