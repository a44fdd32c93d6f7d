// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"strings"

	"sentinel/platform/linux/updates"
)

// unitDirs are those of systemd, first what counts (systemd.unit(5)).
var unitDirs = []string{"/etc/systemd/system.control/", "/run/systemd/system.control/", "/etc/systemd/system/", "/etc/systemd/system.attached/", "/run/systemd/system/", "/usr/local/lib/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"}

// startOr advises to start the first of the services that is installed, and to install one where
// none is.
func (m *machine) startOr(install string, services ...string) string {
	systemd := m.exists("/run/systemd/system")
	for _, name := range services {
		unit := name + ".service"
		switch {
		case systemd && m.masked(unit):
			return "Start the one that is installed: sudo systemctl unmask " + unit + " && sudo systemctl enable --now " + unit
		case systemd && m.hasUnit(unit):
			return "Start the one that is installed: sudo systemctl enable --now " + unit
		case m.exists("/sbin/openrc-run") && m.exists("/etc/init.d/"+name):
			return "Start the one that is installed: sudo rc-update add " + name + " && sudo rc-service " + name + " start"
		case !systemd && m.exists("/etc/init.d/"+name):
			return "Start the one that is installed: sudo service " + name + " start"
		}
	}
	return install
}

func (m *machine) hasUnit(unit string) bool {
	for _, directory := range unitDirs {
		if m.exists(directory + unit) {
			return true
		}
	}
	return false
}

func (m *machine) masked(unit string) bool {
	to, err := os.Readlink(m.path("/etc/systemd/system/" + unit))
	return err == nil && to == "/dev/null"
}

// isImage reports whether this is a container that runs one application and is renewed with its
// image. One with an init of its own and a package manager is looked after like a machine, as those
// of LXC and systemd-nspawn are.
func (m *machine) isImage() bool {
	if !m.container() {
		return false
	}
	return updates.ListsOf(m.Root).Manager == "" || !m.ownInit()
}

func (m *machine) ownInit() bool {
	if m.exists("/run/systemd/system") || m.exists("/run/openrc/softlevel") {
		return true
	}
	name, err := m.text("/proc/1/comm")
	return err == nil && (strings.TrimSpace(name) == "systemd" || strings.TrimSpace(name) == "init")
}
