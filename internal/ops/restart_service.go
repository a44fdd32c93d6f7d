// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var restartService = Operation{
	Name:   "restart_service",
	Action: "restart_service",
	Flag:   "restart-service",
	Alias:  "restart",
	Title:  "Restart service",
	Description: "Restart a system service (systemd on Linux, launchd on macOS). Use when a service needs to be restarted. " +
		"Watches it for ten seconds; one that dies again is a failure with its last log lines. " +
		"A service that runs tests its configuration first. Refuses one that does not pass, targets, units of the system itself, what the session depends on, and services that are switched off." + tellFirst + dataOnly,
	Usage:     "restart a service and see that it stays up",
	Toolset:   DefaultToolset,
	Effect:    Destructive,
	Privilege: NeedsRoot,
	Grant:     GrantWrite,
	Deadline:  43 * time.Second,
	Preferred: true,
	Codes:     []string{"INVALID_SERVICE", "SERVICE_NOT_FOUND", "SERVICE_MASKED", "SERVICE_INACTIVE", "PROTECTED_SERVICE", "RESTART_FAILED", "BROKEN_CONFIGURATION"},
	Fields: []Field{
		{
			Name: "service", Flag: "restart-service", Candidates: CandidateServices, Placeholder: "NAME", Kind: Text, MaxLength: 255, Required: true, Code: "INVALID_SERVICE",
			Fix:         "Send the name of one service, such as nginx or nginx.service, or com.example.server on a Mac.",
			Description: "Unit name (Linux) or service label (macOS), with or without its domain: system/LABEL, gui/UID/LABEL",
		},
		reason,
		dryRun,
	},
}
