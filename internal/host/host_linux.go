// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/connections"
	"sentinel/platform/linux/inventory"
	"sentinel/platform/linux/netfilter"
	"sentinel/platform/linux/processes"
	"sentinel/platform/linux/vitals"
)

// Open assembles Linux below root, "/" on a live system. Nothing is read yet.
func Open(root string) (*Host, error) {
	return &Host{
		Health:    vitals.Sources(root),
		Processes: processes.New(root),
		Network:   connections.New(root),
		Firewall:  netfilter.New(root, sysexec.Host{}),
		Assets:    inventory.New(root),
	}, nil
}
