// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
)

// Effective reports whether a process has a capability (capabilities(7)) over this machine: in a user namespace
// of their own anybody has all of them.
func (fs FS) Effective(pid, capability int) bool {
	set, err := readWith(fs, parseEffective, strconv.Itoa(pid), "status")
	return err == nil && set>>capability&1 == 1 && fs.OfOurUsers(pid)
}

func parseEffective(b []byte) (uint64, error) {
	for line := range lines(b) {
		if digits, ok := bytes.CutPrefix(line, []byte("CapEff:")); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 64)
		}
	}
	return 0, fmt.Errorf("capabilities: %w", ErrFormat)
}
