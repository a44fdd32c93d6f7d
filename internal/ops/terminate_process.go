// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var terminateProcess = Operation{
	Name:   "terminate_process",
	Action: "terminate_process",
	Flag:   "kill",
	Title:  "Terminate process",
	Description: "Kill a process by PID. Use when user wants to stop a process or a runaway process is detected. " +
		"Refuses critical and own parent processes and what carries a session." + tellFirst + dataOnly,
	Usage:     "end a process",
	Toolset:   DefaultToolset,
	Effect:    Destructive,
	Privilege: NeedsRoot,
	Grant:     GrantWrite,
	Deadline:  20 * time.Second,
	Preferred: true,
	Codes:     []string{"INVALID_PID", "PROCESS_NOT_FOUND", "PROCESS_CHANGED", "PROTECTED_PROCESS", "STILL_RUNNING"},
	Fields: []Field{
		{
			Name: "pid", Flag: "kill", Candidates: CandidateProcesses, Placeholder: "PID", Kind: Integer, Min: 1, Max: maxPID, Required: true,
			Code: "INVALID_PID", Fix: "Take the pid of a row of: sentinel --top",
			Description: "Process ID to terminate",
		},
		reason,
		{
			Name: "graceful", Flag: "graceful", Kind: Boolean, Default: false,
			Description: "SIGTERM, SIGKILL 5 s later",
		},
		{
			Name: "expect_name", Flag: "expect-name", Placeholder: "NAME", Kind: Text, MaxLength: 64,
			Description: "Name it must have",
		},
		{
			Name: "expect_start", Flag: "expect-start", Placeholder: "ID", Kind: Text, MaxLength: 40,
			Description: "start_id of its row in a list",
		},
		endSession,
		dryRun,
	},
}

// maxPID is the largest PID on a 64-bit kernel (PID_MAX_LIMIT in
// include/linux/threads.h).
const maxPID = 4194304
