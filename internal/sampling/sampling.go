// SPDX-License-Identifier: Apache-2.0

// Package sampling holds the time over which rates are measured.
package sampling

import (
	"context"
	"time"
)

// Window is how long a measurement lasts. The kernel counts CPU time in ticks
// of 10 ms, so half a second is good to two percent of a core; a shorter window
// is not.
const Window = 500 * time.Millisecond

// Wait waits for one Length, or until ctx ends.
func Wait(ctx context.Context) error {
	timer := time.NewTimer(Window)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
