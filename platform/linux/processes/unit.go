// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"slices"
	"strings"

	"sentinel/internal/processes"
)

// unitOf finds the unit in the path of a control group of systemd: the first part that is not a
// slice. Below a user's manager (user@1000.service) it is one of that manager's units, found in the
// same way; deeper groups are private to the unit (Control Group APIs and Delegation,
// systemd.io/CGROUP_DELEGATION).
func unitOf(path string) processes.Unit {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := slices.IndexFunc(parts, notSlice)
	if at < 0 || !unitName(unescaped(parts[at])) {
		return processes.Unit{}
	}
	name := unescaped(parts[at])
	if !strings.HasPrefix(name, "user@") {
		return unit(name, false)
	}
	below := parts[at+1:]
	if at := slices.IndexFunc(below, notSlice); at >= 0 && unitName(unescaped(below[at])) && below[at] != "init.scope" {
		return unit(unescaped(below[at]), true)
	}
	u := unit(name, false)
	u.Manager = true
	return u
}

// unit describes the unit to the domain. Scopes contain processes that systemd did not start.
func unit(name string, user bool) processes.Unit {
	u := processes.Unit{Name: name, User: user, Service: strings.HasSuffix(name, ".service")}
	if u.Service && !user {
		u.RestartName, u.StopCommand = name, "systemctl stop "+name
	}
	return u
}

func notSlice(part string) bool { return !strings.HasSuffix(part, ".slice") }

// unescaped removes the prefix of a name that could be mistaken for a file of the kernel (cg_escape
// in systemd).
func unescaped(part string) string { return strings.TrimPrefix(part, "_") }

// maxUnitName is UNIT_NAME_MAX of systemd, with the NUL.
const maxUnitName = 256

// unitName distinguishes names of units that can contain processes from other directories
// (systemd.unit(5)).
func unitName(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	if dot < 1 || len(s) >= maxUnitName {
		return false
	}
	kinds := []string{"service", "scope", "socket", "mount", "swap"}
	return slices.Contains(kinds, s[dot+1:]) && !strings.ContainsFunc(s, notOfUnit)
}

func notOfUnit(r rune) bool {
	alphanumeric := r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !alphanumeric && !strings.ContainsRune(`:-_.\@`, r)
}
