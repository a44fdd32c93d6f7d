// SPDX-License-Identifier: Apache-2.0

package testenv

import "encoding/binary"

// TimeZone is the file of a time zone that is always so many seconds east of UTC (RFC 9636, version 1).
func TimeZone(east int32, name string) string {
	b := append([]byte("TZif"), make([]byte, 16)...)
	for _, n := range []uint32{0, 0, 0, 0, 1, uint32(len(name) + 1)} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(east))
	return string(b) + "\x00\x00" + name + "\x00"
}
