// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var report = Operation{
	Name:      "report",
	Action:    "report",
	Flag:      "report",
	Title:     "Report",
	Usage:     "send the health of this machine, and what waits, to every endpoint of the configuration (for a timer)",
	Effect:    SendsOut,
	Recorded:  true,
	Privilege: NeedsRoot,
	Deadline:  45 * time.Second,
	Codes:     []string{"WEBHOOK_FAILED", "WEBHOOK_QUEUED"},
}
