// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var allowService = Operation{
	Name:   "allow_service",
	Action: "allow_service",
	Flag:   "allow-service",
	Title:  "Allow service",
	Description: "Let a service through the firewall that is on. Use when a firewall keeps out a service that others are meant to reach. " +
		"On trial: closed again after confirm_within seconds unless confirmed by a second call. " +
		"Refused until policy.enabled_tools of the machine names it. With no firewall on it changes nothing; see keep_open of enable_firewall.",
	Usage:      "let a service through the firewall, for a trial until it is confirmed",
	Toolset:    DefaultToolset,
	Effect:     Write,
	OptIn:      true,
	Asks:       true,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Deadline:   42 * time.Second,
	Codes:      []string{"INVALID_SERVICE", "FIREWALL_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields: []Field{
		{
			Name: "services", Flag: "allow-service", Placeholder: "SERVICE", Kind: Text, MaxLength: maxServices, Required: true,
			Code: "INVALID_SERVICE", Fix: servicesFix,
			Description: "Services or ports, such as https or 8443/tcp; several with commas",
		},
		reason,
		confirm,
		dryRun,
	},
}
