// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getProcessDetails = Operation{
	Name:   "get_process_details",
	Action: "process_details",
	Flag:   "process",
	Title:  "Process details",
	Description: "Get all about one process: what is notable, who started it, parents and children, program file (package, changed, removed), " +
		"memory by kind, open files, sockets, limits, control group, and what it waits for. " +
		"Use when a process is busy, stuck or unknown. Never shows its environment. Changes nothing." + dataOnly,
	Usage:      "all about one process: why it runs, what it has open, what it waits for",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantState,
	Deadline:   20 * time.Second,
	Codes:      []string{"INVALID_PID", "PROCESS_NOT_FOUND"},
	Fields: []Field{
		{
			Name: "pid", Flag: "process", Candidates: CandidateProcesses, Placeholder: "PID", Kind: Integer, Min: 1, Max: maxPID, Required: true,
			Code: "INVALID_PID", Fix: "Take the pid of a row of: sentinel --top",
			Description: "Process ID, as the lists of processes name it",
		},
	},
}
