// SPDX-License-Identifier: Apache-2.0

package privilege

import "os"

// EffectiveUID returns the user whose permissions the kernel checks. [AsUser] changes it
// temporarily.
func EffectiveUID() int { return os.Geteuid() }

// RealUID returns the user who started this process. A set-user-ID bit does not
// change it.
func RealUID() int { return os.Getuid() }

// IsRoot reports whether this process has root's rights now.
func IsRoot() bool { return EffectiveUID() == 0 }

// Groups returns the groups of this process, by which the kernel and sudo decide; nil if they cannot
// be read.
func Groups() []int {
	groups, err := os.Getgroups()
	if err != nil {
		return nil
	}
	return append(groups, os.Getegid())
}
