// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getStartupItems = Operation{
	Name:   "get_startup_items",
	Action: "startup_items",
	Flag:   "startup-items",
	Alias:  "startup",
	Title:  "Startup items",
	Description: "List what starts by itself: services, timers, cron and at jobs, shell start files, SSH keys that let someone in, preloaded libraries, PAM, udev, autostart, D-Bus; on macOS launch daemons and agents, background items. " +
		"Use for \"what starts that?\", \"what is new here?\" or after a break-in. " +
		"First what is new or changed since the last run (since; only root keeps runs), then what no package owns, then what differs from its package; rest counts the others. " +
		"Unpackaged alone is no fault; warnings say what to look at. Changes nothing but its own record." + dataOnly,
	Usage:      "what starts by itself, what is new first",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantState,
	Deadline:   30 * time.Second,
	Lists:      true,
	Fields:     []Field{verbose("Also items that are as their packages have them")},
}
