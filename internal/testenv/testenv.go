// SPDX-License-Identifier: Apache-2.0

// Package testenv provides the environment of tests: namespaces, a booted container, files, or a
// reason to skip.
package testenv

import (
	"os"
	"testing"
)

// Need skips the test if ok is false. With SENTINEL_REQUIRE_ALL=1 it fails the test
// instead, so that CI cannot pass by skipping.
func Need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if !ok {
		if os.Getenv("SENTINEL_REQUIRE_ALL") == "1" {
			t.Fatal("needed: " + reason)
		}
		t.Skip(reason)
	}
}
