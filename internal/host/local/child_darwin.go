// SPDX-License-Identifier: Apache-2.0

package local

import (
	"io"

	"sentinel/platform/darwin/sensors"
)

// Child does the work of a child process that runs this program again, if the arguments request it,
// and reports whether they did. The child does work that may crash.
func Child(args []string, stdout io.Writer) (handled bool) {
	if len(args) != 1 || args[0] != sensors.Argument {
		return false
	}
	// The parent checks the output, so a failed write needs no error here.
	_ = sensors.Serve(stdout, sensors.Temperatures) //nolint:errcheck // see above
	return true
}
