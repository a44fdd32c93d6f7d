// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"os"
	"path/filepath"
)

// unitFolders are where systemd finds units, those of the administrator first
// (systemd.unit(5)).
func unitFolders() []string {
	return []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// restore looks for the units that bring blocked addresses back at boot and end
// them in time. They are enabled when another unit wants them.
func restore(_ context.Context, p Patient) []Finding {
	const fix = "sudo install -m 0644 packaging/systemd/sentinel-restore.* /etc/systemd/system/ && sudo systemctl daemon-reload && sudo systemctl enable --now sentinel-restore.service sentinel-restore.timer"
	if info, err := os.Lstat(p.at("/run/systemd/system")); err != nil || !info.IsDir() { // sd_booted(3)
		return one(Unknown, "systemd does not run here.", "Have this machine run at boot and every minute: sentinel --restore-blocklist")
	}
	for _, unit := range []string{"sentinel-restore.service", "sentinel-restore.timer"} {
		if !p.anyFile(unitFolders(), unit) {
			return one(Warning, unit+" is not installed; blocks do not come back after a reboot.", fix)
		}
		if !p.anyFile([]string{"/etc/systemd/system/*.wants", "/usr/lib/systemd/system/*.wants", "/lib/systemd/system/*.wants"}, unit) {
			return one(Warning, unit+" is not enabled; blocks do not come back after a reboot.", "sudo systemctl enable --now sentinel-restore.service sentinel-restore.timer")
		}
	}
	return one(OK, "sentinel-restore.service and sentinel-restore.timer are installed and enabled", "")
}

func (p Patient) anyFile(folders []string, name string) bool {
	for _, dir := range folders {
		found, err := filepath.Glob(filepath.Join(p.at(dir), name))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
