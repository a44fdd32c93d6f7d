// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getLogs = Operation{
	Name:   "get_logs",
	Action: "logs",
	Flag:   "logs",
	Title:  "Logs",
	Description: "Read the logs of the system and its services, grouped: lines equal but for numbers and ids are one pattern with count, first, last and a sample, errors first. " +
		"Use to find why something fails. Without since: an hour, of a unit a day. Changes nothing." + dataOnly,
	Usage:      "what the logs say, equal lines counted, errors first",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantContent,
	Deadline:   40 * time.Second,
	Codes:      []string{"INVALID_SERVICE"},
	Lists:      true,
	Fields: []Field{
		{
			Name: "unit", Flag: "unit", Candidates: CandidateServices, Placeholder: "NAME", Kind: Text, MaxLength: 255, Code: "INVALID_SERVICE",
			Fix:         "Send the name of one service, such as nginx, kernel, or a process or label on a Mac.",
			Description: "Service, or kernel",
		},
		since,
		{Name: "until", Flag: "until", Placeholder: "TIME", Kind: Text, MaxLength: 64, Description: "As since; default now"},
		{
			Name: "priority", Flag: "priority", Placeholder: "LEVEL", Kind: Text, Enum: []string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"},
			Description: "This and worse",
		},
		{Name: "text", Flag: "text", Kind: Text, MaxLength: 200, Description: "Part of the line, any case"},
		{Name: "raw", Flag: "raw", Kind: Boolean, Default: false, Description: "The newest lines, not patterns"},
		{Name: "limit", Flag: "limit", Kind: Integer, Min: 1, Max: 200, Default: int64(40), Description: "Rows"},
	},
}
