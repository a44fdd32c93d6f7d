// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getAssetInfo = Operation{
	Name:   "get_asset_info",
	Action: "asset_info",
	Flag:   "asset-info",
	Alias:  "assets",
	Title:  "Asset inventory",
	Description: "Get complete system hardware/software inventory: model, processor, memory, disks, OS, interfaces with addresses, encryption, virtualization. " +
		"Use when user asks about specs or for asset tracking. " +
		"On Linux the serial number needs root; what could not be read is listed in unavailable. Changes nothing." + dataOnly,
	Usage:      "hardware, operating system, interfaces and volumes",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantRead,
	Deadline:   15 * time.Second,
	Lists:      true,
}
