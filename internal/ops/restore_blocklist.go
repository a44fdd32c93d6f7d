// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var restoreBlocklist = Operation{
	Name:      "restore_blocklist",
	Action:    "restore_blocklist",
	Flag:      "restore-blocklist",
	Title:     "Restore blocklist",
	Usage:     "make the packet filter match the list of blocked addresses (at boot, and when blocks end)",
	Effect:    Write,
	Privilege: NeedsRoot,
	Deadline:  40 * time.Second,
	Codes:     packetFilterCodes,
}
