// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"time"
)

// What a delivery tries before it gives up. Somebody may wait for it; what has
// longer patience is a spool.
const (
	maxAttempts = 4
	firstPause  = time.Second // doubled each time
	// minAttempt is what an attempt needs of the time that is left.
	minAttempt = time.Second
)

// Deliver sends a document until the receiver has it or does not want it, at
// most four times and not beyond ctx. It may have arrived although the result says otherwise,
// when the answer was lost; the receiver knows by the ID.
func (c *Client) Deliver(ctx context.Context, d Document) Result {
	for n := 1; ; n++ {
		r := c.attempt(ctx, d)
		r.Attempts = n
		if !r.retryable || n == maxAttempts || !c.pauseBefore(ctx, n, r.RetryAfter) {
			return r
		}
	}
}

// pauseBefore waits for the next attempt, longer each time, and never for as
// long as the others that failed in the same moment. It says false when there is not enough time
// left.
func (c *Client) pauseBefore(ctx context.Context, attempts int, asked time.Duration) bool {
	d := firstPause << (attempts - 1)
	d = d/2 + time.Duration(c.jitter()*float64(d)/2)
	d = max(d, asked)
	if end, ok := ctx.Deadline(); ok && end.Sub(c.now()) < d+minAttempt {
		return false
	}
	return c.wait(ctx, d) == nil
}
