// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getServiceStatus = Operation{
	Name:   "get_service_status",
	Action: "service_status",
	Flag:   "service",
	Title:  "Service status",
	Description: "Tell how a system service is and why: state and since when, restarts, how it ended in words, the root cause among what it needs, " +
		"who holds the port it wants, last log lines, ports, memory and CPU against its limits, what starts it again. " +
		"Without a service: all that are not well. Use when something does not work; use it before restart_service." + dataOnly,
	Usage:      "how a service is and why; without a name, all that are not well",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantState,
	Deadline:   20 * time.Second,
	Preferred:  true,
	Codes:      []string{"INVALID_SERVICE", "SERVICE_NOT_FOUND"},
	Lists:      true,
	Fields: []Field{
		{
			Name: "service", Flag: "service", Candidates: CandidateServices, Placeholder: "[NAME]", Kind: Text, MaxLength: 255, Code: "INVALID_SERVICE",
			Fix:         "Send the name of one service, such as nginx, or com.example.server on a Mac, or leave it out.",
			Description: "Unit name (Linux) or service label (macOS); all that are not well by default",
		},
	},
}
