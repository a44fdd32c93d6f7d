// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"strings"

	"github.com/moby/sys/mountinfo"
)

// parseWith is in a file of its own because the library has it only on Linux.
func parseWith(line string) ([]*mountinfo.Info, error) {
	return mountinfo.GetMountsFromReader(strings.NewReader(line+"\n"), nil)
}
