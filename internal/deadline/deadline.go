// SPDX-License-Identifier: Apache-2.0

// Package deadline keeps one slow read from delaying a whole answer.
package deadline

import (
	"context"
	"time"
)

// Call runs read with a time limit and abandons it when it exceeds that: a read
// from a dead disk cannot be interrupted. The error is then that of the context,
// context.DeadlineExceeded or context.Canceled, and a late result is dropped.
func Call[T any](ctx context.Context, limit time.Duration, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := read(ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
