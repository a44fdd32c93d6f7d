// SPDX-License-Identifier: Apache-2.0

// Package localtime has the time zone of a machine, in which its services write times that name none.
// That of package time is the zone of whoever runs this program, who may have another one in TZ: sudo keeps it.
package localtime

import (
	"path/filepath"
	"time"

	"sentinel/platform/unix/hostfile"
)

// maxFile bounds the file of a zone, in bytes. The largest has some 3 KB.
const maxFile = 256 << 10

// Zone returns the zone that etc/localtime below root describes (localtime(5)), and UTC where that is missing or
// damaged, as the C library does.
func Zone(root string) *time.Location {
	raw, err := hostfile.Read(filepath.Join(root, "etc", "localtime"), maxFile)
	if err != nil {
		return time.UTC
	}
	zone, err := time.LoadLocationFromTZData("Local", raw)
	if err != nil {
		return time.UTC
	}
	return zone
}
