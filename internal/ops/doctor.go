// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var doctor = Operation{
	Name:       "doctor",
	Action:     "doctor",
	Flag:       "doctor",
	Title:      "Doctor",
	Usage:      "check that everything sentinel needs is in order, with a fix for what is not",
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Deadline:   20 * time.Second,
}
