// SPDX-License-Identifier: Apache-2.0

package virt

import (
	"testing"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Everybody may hold the directory of the first process, and almost every answer depends on whether this is a container.
func TestWhoHoldsTheFirstProcessHoldsNoAnswerUp(t *testing.T) {
	if !testenv.IsolatedAsSecond(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	release := deadfuse.Hold(t, 1000, "/proc/1")
	got := Container("/")
	release()
	if want := Container("/"); got != want {
		t.Errorf("%q, without a user who holds it %q", got, want)
	}
}
