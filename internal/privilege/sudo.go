// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"math"
	"strconv"
)

// NoUser is the user ID that nobody has ((uid_t)-1), and where int has 32 bits the largest that
// fits.
const NoUser = min(1<<32-1, math.MaxInt)

// SudoUser returns the user who ran sudo, if this process runs behind it. sudo sets SUDO_UID and
// SUDO_USER itself and does not let the caller set them (sudo(8)); without root they mean nothing.
// An ID that is not one is [NoUser]: somebody, and not root.
func SudoUser(getenv func(string) string) (uid int, name string, ok bool) {
	text, name := getenv("SUDO_UID"), getenv("SUDO_USER")
	if text == "" && name == "" {
		return 0, "", false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 || id > NoUser {
		return NoUser, name, true
	}
	return int(id), name, true
}
