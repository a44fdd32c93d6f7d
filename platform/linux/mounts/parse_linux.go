// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"io"

	"github.com/moby/sys/mountinfo"
)

// parseEach calls take with each mount until it fails. It is in a file of its own because the library reads
// tables only on Linux.
func parseEach(table io.Reader, take func(*mountinfo.Info) error) error {
	_, err := mountinfo.GetMountsFromReader(table, func(m *mountinfo.Info) (skip, stop bool) { return true, take(m) != nil })
	return err
}
