// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getLogins = Operation{
	Name:   "get_logins",
	Action: "logins",
	Flag:   "logins",
	Title:  "Logins",
	Description: "Tell who is logged in, who was, failed logins by address and by user with times, " +
		"addresses that failed often and then got in (first), new accounts and SSH keys. " +
		"Use for who was here, password guessing, break-ins. " +
		"address goes to block_ip_address as it is, and protected says why that would refuse." + dataOnly,
	Usage:      "who is on, who was, who tries to get in, new accounts and keys",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantContent,
	Deadline:   30 * time.Second,
	Lists:      true,
	Fields: []Field{
		since,
	},
}
