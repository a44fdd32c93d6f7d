// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var dnsLookup = Operation{
	Name:   "dns_lookup",
	Action: "dns_lookup",
	Flag:   "dns",
	Title:  "DNS lookup",
	Description: "Ask the name servers of this machine about a name, or for the names of an address. Use when a name does not resolve or to check mail and service records; with server, to compare with another one. " +
		"Says which server answered, how long records may be kept and whether DNSSEC was checked. The name is taken as it stands: no search domain, no hosts file." + dataOnly,
	Usage:      "what the name servers say about a name or an address",
	Toolset:    DiagnosticsToolset,
	Effect:     SendsOut,
	Idempotent: true,
	Privilege:  AnyUser,
	Deadline:   15 * time.Second,
	Codes:      []string{"INVALID_TARGET", "HOST_NOT_FOUND"},
	Lists:      true,
	Fields: []Field{
		{
			Name: "name", Flag: "dns", Placeholder: "NAME", Kind: Text, MaxLength: 254, Required: true, Code: "INVALID_TARGET",
			Fix:         "Send a name such as www.example.net, or an address to find its names.",
			Description: "Name, or address for its names",
		},
		{
			Name: "record_type", Flag: "record-type", Placeholder: "TYPE", Kind: Text,
			Enum:        []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"},
			Description: "Type of record; A and AAAA of a name, PTR of an address by default",
		},
		{
			Name: "server", Flag: "dns-server", Placeholder: "ADDRESS", Kind: Text, MaxLength: 60, Code: "INVALID_TARGET",
			Fix:         "Send the address of a name server, or leave it out to ask those of this machine.",
			Description: "Address of the name server to ask; those of this machine by default",
		},
	},
}
