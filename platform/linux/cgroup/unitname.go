// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"strconv"
	"strings"
)

// Unit returns the unit of systemd that a control group belongs to, by its path: the first part
// that is not a slice, and below a user's manager one of that manager's units. "" is none.
func Unit(path string) string {
	unit := ""
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		switch {
		case strings.HasSuffix(part, ".slice"):
		case strings.HasPrefix(part, "user@") && isName(part) && unit == "":
			unit = part
		case isUnit(part):
			return part
		case unit == "":
			return ""
		}
	}
	return unit
}

// isUnit says that a group has the name of a service or a scope (systemd.unit(5)).
func isUnit(name string) bool {
	return isName(name) && (strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".scope"))
}

// isName says that a name has the letters of units. Who has a group of their own may name those below it in others,
// and put a sentence into a name.
func isName(name string) bool {
	const valid = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@"
	return !strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(valid, r) })
}

// User returns the ID of the user whose slice a control group is in (systemd-logind.service(8)). The parts below
// that may be named by that user.
func User(path string) (uid int, ok bool) {
	slice, ok := strings.CutPrefix(path, "/user.slice/user-")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(slice, ".slice")
	n, err := strconv.ParseUint(digits, 10, 32)
	return int(n), ok && err == nil
}

// ShownUnit returns the unit of a control group as it is shown: one of a user's manager after that manager, since
// users give their own units the names of the system's.
func ShownUnit(path string) string {
	unit, parts := Unit(path), strings.Split(path, "/")
	if _, ok := User(path); ok && len(parts) > 4 && strings.HasPrefix(parts[3], "user@") && unit != parts[3] {
		return parts[3] + "/" + unit
	}
	return unit
}
