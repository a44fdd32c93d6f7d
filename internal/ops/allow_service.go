// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var allowService = Operation{
	Name:   "allow_service",
	Action: "allow_service",
	Flag:   "allow-service",
	Alias:  "allow",
	Title:  "Allow service",
	Description: "Let a service through the firewall that is on. Use when it keeps out what others are meant to reach. " +
		"On trial: closed again after confirm_within seconds unless a second call confirms. " +
		"Refused until policy.enabled_tools of the machine names it." + tellFirst,
	Usage:      "let a service through the firewall, for a trial until it is confirmed",
	Toolset:    DefaultToolset,
	Effect:     Write,
	OptIn:      true,
	Asks:       true,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Grant:      GrantWrite,
	Deadline:   42 * time.Second,
	Codes:      []string{"INVALID_SERVICE", "FIREWALL_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields: []Field{
		{
			Name: "services", Flag: "allow-service", Placeholder: "SERVICE", Kind: Text, MaxLength: maxServices, Required: true,
			Code: "INVALID_SERVICE", Fix: servicesFix,
			Description: "Services or ports, such as https,8443/tcp",
		},
		reason,
		confirm,
		dryRun,
	},
}
