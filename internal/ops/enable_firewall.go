// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var enableFirewall = Operation{
	Name:   "enable_firewall",
	Action: "enable_firewall",
	Flag:   "fix-firewall",
	Title:  "Enable firewall",
	Description: "Enable the system firewall if it's disabled. Use when security audit shows firewall is off. " +
		"On Linux first allows SSH where it listens and connections that are open, then switches on ufw, firewalld or its own set of rules, for a trial: " +
		"it is switched off again after confirm_within seconds unless confirmed by a second call. " +
		"On macOS switches on the Application Firewall, unless it would shut out SSH. " +
		"details says what was done and what it closes; look first with dry_run. Already on is a success.",
	Usage:      "switch the firewall on, for a trial until it is confirmed",
	Toolset:    DefaultToolset,
	Effect:     Write,
	Asks:       true,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Deadline:   42 * time.Second,
	Codes:      []string{"INVALID_SERVICE", "FIREWALL_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields: []Field{
		{
			Name: "keep_open", Flag: "keep-open", Placeholder: "SERVICES", Kind: Text, MaxLength: maxServices,
			Code: "INVALID_SERVICE", Fix: servicesFix,
			Description: "Services or ports that stay reachable beside SSH, such as https,8443/tcp",
		},
		confirm,
		dryRun,
	},
}
