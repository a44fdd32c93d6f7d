// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"testing"

	"sentinel/internal/fault"
)

func TestAWatchdogIsProtected(t *testing.T) {
	dog := func() *victim { return facts(func(f *Facts) { f.Watchdog, f.Nested = "/dev/watchdog0", true }) }
	fails(t, dog(), Target{}, fault.ProtectedProcess, `it holds "/dev/watchdog0", a watchdog that resets the machine when nobody writes to it any more`, "add --force")
	if _, _, err := do(t, dog(), Target{Force: true}); err != nil {
		t.Error(err)
	}
}
