// SPDX-License-Identifier: Apache-2.0

// Package sampling defines the time window over which rates are measured.
package sampling

import (
	"context"
	"time"
)

// Window is how long a measurement takes. The kernel counts CPU time in ticks of 10
// ms, so half a second is accurate to two percent of a core.
const Window = 500 * time.Millisecond

// Wait waits for one Window, or until ctx ends.
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
