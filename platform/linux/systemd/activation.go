// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"path/filepath"
	"slices"

	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/hostfile"
)

// maxBusFile bounds such a file, in bytes.
const maxBusFile = 64 << 10

// startedByCalls reports whether a call to a name on the bus starts a unit, by one of its names. A file that cannot be
// read may say so. The bus takes those alone that are named after the name on it.
func startedByCalls(root, busName string, unit []string) bool {
	if busName == "" {
		return false
	}
	return slices.ContainsFunc(unitfile.SystemBusServices, func(dir string) bool {
		raw, err := hostfile.Read(filepath.Join(root, dir, busName+".service"), maxBusFile)
		if err != nil {
			return !hostfile.Missing(err)
		}
		return slices.ContainsFunc(unit, func(name string) bool { return startsUnit(string(raw), name) })
	})
}

// startsUnit reports that a file of a service of the bus has SystemdService= for a unit.
func startsUnit(file, unit string) (starts bool) {
	unitfile.DesktopSettings(file, unitfile.BusService, func(key, value string) {
		starts = starts || key == "SystemdService" && value == unit
	})
	return starts
}
