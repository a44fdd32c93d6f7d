// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"errors"
	"slices"
	"testing"

	"sentinel/internal/network"
	"sentinel/platform/linux/procfs"
)

// A service that has reached a bound of its own hides nothing of the system.
func TestABoundOfOnesOwnIsNoneOfTheSystem(t *testing.T) {
	for why, system := range map[error]bool{procfs.ErrManyFiles: false, procfs.ErrFilesTime: true, procfs.ErrStuck: true} {
		e, ok := errors.AsType[*network.SkippedError](skipped([]procfs.Skipped{{PID: 7, UID: 33, Err: why}, {PID: 8, UID: 1000, Err: why}}))
		if !ok || e.System != system || e.Processes != 2 || !slices.Contains(e.Users, 1000) || slices.Contains(e.Users, 33) == system {
			t.Errorf("%v: %+v", why, e)
		}
	}
}
