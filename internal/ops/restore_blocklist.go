// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var restoreBlocklist = Operation{
	Name:      "restore_blocklist",
	Action:    "restore_blocklist",
	Flag:      "restore-blocklist",
	Title:     "Restore blocklist",
	Usage:     "make the packet filter match the list of blocked addresses, and end trials of the firewall (at boot, and when blocks end)",
	Effect:    Write,
	Privilege: NeedsRoot,
	Deadline:  40 * time.Second,
	Codes:     []string{"FIREWALL_FAILED", "PF_RELOAD_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields: []Field{
		{
			Name: "after", Flag: "after", Placeholder: "SECONDS", Kind: Integer, Min: 1, Max: 3600,
			Description: "Wait that long first, as what ends a trial of the firewall does where systemd does not run",
		},
		{
			Name: "end_trial", Flag: "end-trial", Kind: Boolean, Default: false,
			Description: "Take back at once what is on trial in the firewall, as a removal of the package does",
		},
	},
}
