// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"path/filepath"
	"slices"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// busDirectories are where the bus of the system looks for what a call starts (dbus-daemon(1),
// standard_system_servicedirs). It takes files alone that are named after the name on the bus.
var busDirectories = []string{
	"/etc/dbus-1/system-services", "/run/dbus-1/system-services", "/usr/local/share/dbus-1/system-services", "/usr/share/dbus-1/system-services", "/lib/dbus-1/system-services",
}

// maxBusFile bounds such a file, in bytes.
const maxBusFile = 64 << 10

// startedByCalls reports whether a call to a name on the bus starts a unit, by one of its names. A file that cannot be
// read may say so.
func startedByCalls(root, busName string, unit []string) bool {
	if busName == "" {
		return false
	}
	return slices.ContainsFunc(busDirectories, func(dir string) bool {
		raw, err := hostfile.Read(filepath.Join(root, dir, busName+".service"), maxBusFile)
		if err != nil {
			return !hostfile.Missing(err)
		}
		return slices.ContainsFunc(unit, func(name string) bool { return startsUnit(string(raw), name) })
	})
}

// startsUnit reports that a file of a service of the bus has SystemdService= for a unit.
func startsUnit(file, unit string) bool {
	for line := range strings.Lines(file) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) == "SystemdService" && strings.TrimSpace(value) == unit {
			return true
		}
	}
	return false
}
