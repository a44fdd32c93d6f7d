// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"time"

	"sentinel/internal/progress"
)

// How often a delivery is attempted. A caller may be waiting; the spool tries again
// later.
const (
	maxAttempts = 4
	firstPause  = time.Second // doubled each time
	// minAttempt is how much time must be left for another attempt.
	minAttempt = time.Second
)

// Deliver sends a document until the receiver accepts or refuses it, at most four
// times and not beyond ctx. If the answer was lost, it may have arrived although the result says
// otherwise; the receiver recognizes it by its ID.
func (c *Client) Deliver(ctx context.Context, d Document) Result {
	for n := 1; ; n++ {
		progress.Say(ctx, 20*n, fmt.Sprintf("delivering, attempt %d of %d", n, maxAttempts))
		r := c.attempt(ctx, d)
		r.Attempts = n
		if !r.retryable || n == maxAttempts || !c.pauseBefore(ctx, n, r.RetryAfter) {
			return r
		}
	}
}

// pauseBefore waits before the next attempt: longer each time, with jitter, so that
// clients that failed at the same moment do not all come back at once. It returns false when
// there is not enough time left.
func (c *Client) pauseBefore(ctx context.Context, attempts int, asked time.Duration) bool {
	d := firstPause << (attempts - 1)
	d = d/2 + time.Duration(c.jitter()*float64(d)/2)
	d = max(d, asked)
	if end, ok := ctx.Deadline(); ok && end.Sub(c.now()) < d+minAttempt {
		return false
	}
	return c.wait(ctx, d) == nil
}
