// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"io"

	"github.com/moby/sys/mountinfo"
)

// readTable is in a file of its own because the library has it only on Linux.
func readTable(r io.Reader) ([]*mountinfo.Info, error) {
	return mountinfo.GetMountsFromReader(r, nil)
}
