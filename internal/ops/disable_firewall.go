// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var disableFirewall = Operation{
	Name:   "disable_firewall",
	Action: "disable_firewall",
	Flag:   "disable-firewall",
	Title:  "Disable firewall",
	Description: "Switch the system firewall off. Use only when the user asks for it; allow_service lets one service in. " +
		"On Linux on trial: on again after confirm_within seconds unless a second call confirms; a firewall on trial is taken back at once. " +
		"Refused until policy.enabled_tools of the machine names it. Blocked addresses stay blocked." + tellFirst,
	Usage:      "switch the firewall off, for a trial until it is confirmed",
	Toolset:    DefaultToolset,
	Effect:     Destructive,
	OptIn:      true,
	Asks:       true,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Grant:      GrantWrite,
	Deadline:   42 * time.Second,
	Codes:      []string{"FIREWALL_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields:     []Field{reason, confirm, dryRun},
}
