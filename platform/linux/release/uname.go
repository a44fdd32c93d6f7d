// SPDX-License-Identifier: Apache-2.0

package release

import "golang.org/x/sys/unix"

// unameMachine returns the machine field of uname(2), or "" when it fails,
// which it does only for a bad pointer.
func unameMachine() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Machine[:])
}
