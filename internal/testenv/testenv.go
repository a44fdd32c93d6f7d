// SPDX-License-Identifier: Apache-2.0

// Package testenv says what a test needs from the machine it runs on.
package testenv

import (
	"os"
	"testing"
)

// Need skips the test when ok is false. With SENTINEL_REQUIRE_ALL=1 it fails
// the test instead, so that a run that promises to check everything cannot pass by skipping.
func Need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if !ok {
		if os.Getenv("SENTINEL_REQUIRE_ALL") == "1" {
			t.Fatal("needed: " + reason)
		}
		t.Skip(reason)
	}
}
