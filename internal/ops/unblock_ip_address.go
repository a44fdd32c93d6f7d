// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var unblockIPAddress = Operation{
	Name:   "unblock_ip_address",
	Action: "unblock_ip",
	Flag:   "unblock-ip",
	Alias:  "unblock",
	Title:  "Unblock IP address",
	Description: "Remove an IP from the firewall blocklist, which lets it in again. Use when a blocked IP should be allowed again. " +
		"Only blocks made by Sentinel are removed." + tellFirst,
	Usage:      "let a blocked address in again",
	Toolset:    DefaultToolset,
	Effect:     Write,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Grant:      GrantWrite,
	Deadline:   30 * time.Second,
	Preferred:  true,
	Codes:      []string{"INVALID_IP", "NOT_BLOCKED", "FIREWALL_FAILED", "PF_RELOAD_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields:     []Field{blockedAddress(), reason, dryRun},
}

func blockedAddress() Field {
	f := address("unblock-ip", "IP address to unblock")
	f.Candidates = CandidateBlocked
	return f
}
