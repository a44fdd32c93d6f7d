// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var checkUpdates = Operation{
	Name:   "check_updates",
	Action: "check_updates",
	Flag:   "check-updates",
	Alias:  "updates",
	Title:  "Available updates",
	Description: "Check for available OS updates. Use for security compliance or when user asks about updates. " +
		"Reads what the package manager knows already, without network; list_age_seconds says how old that is. " +
		"Security updates are named apart, in security_updates; held and phased ones are not counted; says whether a reboot is due. Changes nothing." + dataOnly,
	Usage:      "updates that wait to be installed",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  AnyUser,
	Deadline:   45 * time.Second,
	Lists:      true,
	Fields:     []Field{verbose("All updates in info.updates, and packages, a row with the origin of each")},
}
