// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var record = Operation{
	Name:      "record",
	Action:    "record",
	Flag:      "record",
	Title:     "Record",
	Usage:     "keep a sample of how this machine is doing, and what has happened since the last (for a timer, each minute)",
	Effect:    SendsOut,
	Privilege: NeedsRoot,
	Deadline:  40 * time.Second,
}
