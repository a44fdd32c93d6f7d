// SPDX-License-Identifier: Apache-2.0

package local

import (
	"io"

	"sentinel/platform/darwin/sensors"
)

// Child does the work of a process that this program started to be itself, when
// the arguments ask for it, and says whether they did. Such a process does what may crash.
func Child(args []string, stdout io.Writer) (handled bool) {
	if len(args) != 1 || args[0] != sensors.Argument {
		return false
	}
	// Whoever reads the other end sees what was written and nothing else.
	_ = sensors.Serve(stdout, sensors.Temperatures) //nolint:errcheck // see above
	return true
}
