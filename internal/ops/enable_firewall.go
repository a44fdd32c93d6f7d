// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var enableFirewall = Operation{
	Name:   "enable_firewall",
	Action: "enable_firewall",
	Flag:   "fix-firewall",
	Title:  "Enable firewall",
	Description: "Enable the system firewall if it's disabled. Use when security audit shows firewall is off; first with dry_run. " +
		"On Linux allows SSH, then switches on ufw, firewalld or its own rules, on trial: " +
		"off again after confirm_within seconds unless a second call confirms. On macOS the Application Firewall, unless that shuts out SSH. Already on is a success." + tellFirst,
	Usage:      "switch the firewall on, for a trial until it is confirmed",
	Toolset:    DefaultToolset,
	Effect:     Write,
	Asks:       true,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Grant:      GrantWrite,
	Deadline:   42 * time.Second,
	Codes:      []string{"INVALID_SERVICE", "FIREWALL_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields: []Field{
		{
			Name: "keep_open", Flag: "keep-open", Placeholder: "SERVICES", Kind: Text, MaxLength: maxServices,
			Code: "INVALID_SERVICE", Fix: servicesFix,
			Description: "What stays open beside SSH, such as https,8443/tcp",
		},
		confirm,
		dryRun,
	},
}
