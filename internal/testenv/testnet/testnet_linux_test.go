// SPDX-License-Identifier: Apache-2.0

package testnet

import (
	"os"
	"testing"

	"sentinel/internal/testenv"
)

// A function on another host must not move the main thread there: ThisHost would be that host from
// then on.
func TestHereStaysWhatItIs(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	other := NewHost(t)
	here := namespace(t, os.Getpid())
	for range 200 {
		other.Do(func() {})
		if now := namespace(t, os.Getpid()); now != here {
			t.Fatalf("this process was in %s, and is in %s now", here, now)
		}
	}
}
