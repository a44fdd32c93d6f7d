// SPDX-License-Identifier: Apache-2.0

package local

import "sentinel/platform/linux/caller"

// runDir is root's, and empty after each boot (FHS 3.0, 3.15).
const runDir = "/run"

func leaveCaller() { caller.Leave() }

func leaveMemory() { caller.LeaveMemory() }

func leaveGroup() { caller.LeaveGroup() }

func leaveFiles() (flush func() error, err error) { return caller.Streams() }
