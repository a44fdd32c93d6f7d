// SPDX-License-Identifier: Apache-2.0

package limits

import "time"

// A window has the times of what was let in, oldest first. It slides: in no stretch of time are
// there more than the limit, while a bucket of tokens lets twice as many through where it was full.
type window struct {
	times []time.Duration // since the start of the counter
}

// wait returns how long it takes until one more is within most in each span, 0 when it is now.
func (w *window) wait(now time.Duration, q Quota) time.Duration {
	if len(w.times) < q.Calls {
		return 0
	}
	return max(0, w.times[len(w.times)-q.Calls]+q.Span-now)
}

// add counts one, and forgets those that are older than keep.
func (w *window) add(now, keep time.Duration) {
	w.forget(now, keep)
	w.times = append(w.times, now)
}

func (w *window) forget(now, keep time.Duration) {
	old := 0
	for old < len(w.times) && w.times[old]+keep <= now {
		old++
	}
	w.times = w.times[old:]
}
