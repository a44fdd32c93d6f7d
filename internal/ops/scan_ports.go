// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var scanPorts = Operation{
	Name:   "scan_ports",
	Action: "scan_ports",
	Flag:   "scan-ports",
	Alias:  "scan",
	Title:  "Scan ports",
	Description: "Find the open TCP ports of a host. Use when user asks what ports are open or whether a service can be reached. " +
		"Ports of this machine come with the process that listens and whether its packet filter lets other hosts in. " +
		"Filtered means that a firewall is silent or refuses; a host that answers nothing is told as such. Refuses hosts other than this machine and its own private networks " +
		"unless the configuration allows them. Sends packets to the target." + dataOnly,
	Usage:      "open TCP ports of a host",
	Toolset:    DefaultToolset,
	Effect:     SendsOut,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantRead,
	Deadline:   44 * time.Second,
	Codes:      []string{"INVALID_TARGET", "INVALID_PORT_RANGE", "HOST_NOT_FOUND", "TARGET_NOT_ALLOWED"},
	Lists:      true,
	Fields: []Field{
		{
			Name: "target", Flag: "scan-ports", Placeholder: "TARGET", Kind: Text, MaxLength: 254, Required: true,
			Code: "INVALID_TARGET", Fix: "Send one address such as 192.0.2.7 or 2001:db8::7, or a host name, without port, prefix length or scheme.",
			Description: "Address or host name",
		},
		{
			Name: "port_range", Flag: "port-range", Placeholder: "PORTS", Kind: Text, MaxLength: 4096, Default: "1-1024",
			Code: "INVALID_PORT_RANGE", Fix: "Send ports such as 1-1024, 22,80,443, 22,8000-8100 or all.",
			Description: "Ports: 1-1024, 22,80,443, both mixed, or all",
		},
	},
}
