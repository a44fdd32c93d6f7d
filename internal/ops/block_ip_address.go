// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var blockIPAddress = Operation{
	Name:   "block_ip_address",
	Action: "block_ip",
	Flag:   "block-ip",
	Alias:  "block",
	Title:  "Block IP address",
	Description: "Block an IP address in the firewall, inbound and outbound, and cut its open connections. " +
		"Use for malicious IPs or suspicious connections. The answer says when the block ends. " +
		"On macOS, iCloud Private Relay is off while anything is blocked. " +
		"Refuses loopback, multicast, this machine's own addresses, gateway, resolvers, servers it needs, peers of sessions and the allowlist." + tellFirst,
	Usage:      "keep an address out",
	Toolset:    DefaultToolset,
	Effect:     Destructive,
	Idempotent: true,
	Asks:       true,
	Privilege:  NeedsRoot,
	Grant:      GrantWrite,
	Deadline:   30 * time.Second,
	Preferred:  true,
	Codes:      []string{"INVALID_IP", "ALREADY_BLOCKED", "PROTECTED_ADDRESS", "FIREWALL_FAILED", "PF_RELOAD_FAILED", "FIREWALL_UNAVAILABLE", "STATE_CORRUPT"},
	Fields: []Field{
		address("block-ip", "IP address to block (IPv4 or IPv6)"),
		reason,
		{
			Name: "ttl", Flag: "ttl", Placeholder: "TIME", Kind: Text, MaxLength: 20,
			Description: "How long, such as 30m, 24h or 7d; permanent without",
		},
		endSession,
		dryRun,
	},
}

// address is the field for one IP address.
func address(flag, description string) Field {
	return Field{
		Name: "ip", Flag: flag, Placeholder: "IP", Kind: Text, MaxLength: 45, Required: true, Code: "INVALID_IP",
		Fix:         "Send one address such as 203.0.113.7 or 2001:db8::7.",
		Description: description,
	}
}
