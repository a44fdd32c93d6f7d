// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"testing"
	"time"
)

// HangLimit is the time after which a test calls hung what should long have happened.
const HangLimit = 2 * time.Minute

const lookPause = 2 * time.Millisecond

// WaitFor waits until met returns true. After [HangLimit] the test fails with what it waits for.
func WaitFor(t testing.TB, what string, met func() bool) {
	t.Helper()
	WaitAtMost(t, HangLimit, what, met)
}

// WaitAtMost is [WaitFor] with a limit of its own, for what would happen later by
// itself. It should be ten times as long as what is waited for takes.
func WaitAtMost(t testing.TB, limit time.Duration, what string, met func() bool) {
	t.Helper()
	if !becomes(limit, met) {
		t.Fatalf("waited %v in vain: %s", limit, what)
	}
}

// Becomes waits until met returns true, and returns false after [HangLimit]. It is for goroutines
// that may not end the test.
func Becomes(met func() bool) bool { return becomes(HangLimit, met) }

func becomes(limit time.Duration, met func() bool) bool {
	for end := time.Now().Add(limit); !met(); <-time.After(lookPause) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// HangGuard ends the test binary, with the stacks of all goroutines, if the test
// has not ended after [HangLimit].
func HangGuard(t testing.TB) {
	name := t.Name()
	guard := time.AfterFunc(HangLimit, func() { panic(fmt.Sprintf("%s hangs", name)) })
	t.Cleanup(func() { guard.Stop() })
}
