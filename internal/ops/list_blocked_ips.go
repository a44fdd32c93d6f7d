// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var listBlockedIPs = Operation{
	Name:   "list_blocked_ips",
	Action: "list_blocked",
	Flag:   "list-blocked",
	Alias:  "blocked",
	Title:  "Blocked IP addresses",
	Description: "List all IP addresses currently blocked by Sentinel, newest first, with reason, author and end. " +
		"Use to show user what's blocked or before adding new blocks. " +
		"in_kernel says whether the packet filter really drops it, which only root can see. Changes nothing." + dataOnly,
	Usage:      "addresses that are kept out",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantRead,
	Deadline:   15 * time.Second,
	Preferred:  true,
	Codes:      []string{"STATE_CORRUPT"},
	Lists:      true,
}
