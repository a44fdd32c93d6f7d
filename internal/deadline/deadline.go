// SPDX-License-Identifier: Apache-2.0

// Package deadline keeps one slow read from delaying a whole answer.
package deadline

import (
	"context"
	"time"
)

// Call runs read with a time limit and abandons it when it exceeds that: a read
// from a dead disk cannot be interrupted. The error is then that of the context,
// context.DeadlineExceeded or context.Canceled, and a late result is dropped, as a late panic is. One in
// time is the caller's.
func Call[T any](ctx context.Context, limit time.Duration, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.value, o.err = read(ctx)
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.value, o.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
