// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var traceroute = Operation{
	Name:   "traceroute",
	Action: "traceroute",
	Flag:   "traceroute",
	Alias:  "trace",
	Title:  "Traceroute",
	Description: "Show the routers on the way to a host, with latency and loss of three packets each. Use when a host is slow or cannot be reached. " +
		"Routers that do not answer are hops without address; that alone is no fault. " +
		"Sends UDP packets to the target, takes up to 20 s." + dataOnly,
	Usage:      "the routers on the way to a host",
	Toolset:    DiagnosticsToolset,
	Effect:     SendsOut,
	Idempotent: true,
	Privilege:  AnyUser,
	Deadline:   25 * time.Second,
	Codes:      []string{"INVALID_TARGET", "HOST_NOT_FOUND"},
	Fields: []Field{
		{
			Name: "target", Flag: "traceroute", Placeholder: "HOST", Kind: Text, MaxLength: 254, Required: true,
			Code: "INVALID_TARGET", Fix: "Send one address or a host name, without port, prefix length or scheme.",
			Description: "Address or host name",
		},
	},
}
