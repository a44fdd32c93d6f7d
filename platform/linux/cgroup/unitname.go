// SPDX-License-Identifier: Apache-2.0

package cgroup

import "strings"

// Unit returns the unit of systemd that a control group belongs to, by its path: the first part
// that is not a slice, and below a user's manager one of that manager's units. "" is none.
func Unit(path string) string {
	unit := ""
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		switch {
		case strings.HasSuffix(part, ".slice"):
		case strings.HasPrefix(part, "user@") && unit == "":
			unit = part
		case strings.HasSuffix(part, ".service") || strings.HasSuffix(part, ".scope"):
			return part
		case unit == "":
			return ""
		}
	}
	return unit
}
