// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unitDirs are where systemd finds units, the administrator's first
// (systemd.unit(5)).
func unitDirs() []string {
	return []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// The units that restore what is blocked: the service at boot, when another unit wants it, and the
// timer that sentinel itself starts while there is something to restore.
const (
	restoreService = "sentinel-restore.service"
	restoreTimer   = "sentinel-restore.timer"
)

// restore checks the units that restore blocked addresses at boot and end those
// that have expired.
func restore(ctx context.Context, t Target) []Finding {
	if t.mac() {
		return t.macRestore(ctx)
	}
	if t.nothingToRestore(ctx) {
		return one(OK, "Nothing is blocked, and sentinel is not installed for root, so there is nothing to restore at boot", "")
	}
	if info, err := os.Lstat(t.at("/run/systemd/system")); err != nil || !info.IsDir() { // sd_booted(3)
		return one(Unknown, "systemd does not run here.", "Have this machine run at boot and every minute: sentinel --restore-blocklist")
	}
	for _, unit := range []string{restoreService, restoreTimer} {
		if !t.anyFile(unitDirs(), unit) {
			return one(Warning, unit+" is not installed; blocks do not come back after a reboot.", t.installFix())
		}
	}
	if !t.anyFile([]string{"/etc/systemd/system/*.wants", "/usr/lib/systemd/system/*.wants", "/lib/systemd/system/*.wants"}, restoreService) {
		return one(Warning, restoreService+" is not enabled; blocks do not come back after a reboot.", "sudo systemctl enable --now "+restoreService)
	}
	return t.checkRestoreUnits(ctx)
}

// nothingToRestore reports whether a user's own copy of sentinel has to do without units, and can.
func (t Target) nothingToRestore(ctx context.Context) bool {
	return t.Restorable != nil && !t.Restorable() && t.withoutRoot(ctx)
}

// checkRestoreUnits checks whether the enabled units can do their work.
func (t Target) checkRestoreUnits(ctx context.Context) []Finding {
	program := t.programOf(restoreService)
	info, err := os.Stat(t.at(program))
	switch {
	case program == "":
		return one(Problem, restoreService+" starts no program; it is empty or masked.", "See what it is with: systemctl cat "+restoreService)
	case errors.Is(err, fs.ErrNotExist):
		return one(Problem, restoreService+" starts "+program+", and there is no such program.", t.installFix())
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return one(Problem, restoreService+" starts "+program+", which is no program.", t.installFix())
	}
	service, timer := t.unitState(ctx, restoreService), t.unitState(ctx, restoreTimer)
	switch {
	case service == "failed":
		return one(Problem, restoreService+" has failed.", "See why with: sudo journalctl --unit "+restoreService)
	case timer == "failed":
		return one(Problem, restoreTimer+" has failed.", "See why with: systemctl status "+restoreTimer)
	case timer == "inactive" && t.Restorable != nil && t.Restorable():
		return one(Warning, restoreTimer+" does not run although there is something to restore; what another program removes from the packet filter does not come back by itself.", "sudo sentinel --restore-blocklist")
	}
	return one(OK, restoreService+" is enabled, "+restoreTimer+" is installed, and what they start is there", "")
}

// unitState returns the active state of a unit; "" where it is not known.
func (t Target) unitState(ctx context.Context, unit string) string {
	if t.UnitState == nil {
		return ""
	}
	state, err := t.UnitState(ctx, unit)
	if err != nil {
		return ""
	}
	return state
}

// programOf returns the program that a service starts: that of its last
// ExecStart=, in its file or a drop-in (systemd.service(5), systemd.unit(5)).
func (t Target) programOf(unit string) string {
	program := ""
	for _, path := range t.unitFiles(unit) {
		raw, err := readUnit(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(raw) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if strings.TrimSpace(key) == "ExecStart" {
				program, _, _ = strings.Cut(strings.TrimLeft(strings.TrimSpace(value), "-@:+!|"), " ")
			}
		}
	}
	return program
}

// unitFiles returns the file of a unit that systemd uses and its drop-ins.
func (t Target) unitFiles(unit string) []string {
	var files, more []string
	for _, dir := range unitDirs() {
		path := filepath.Join(t.at(dir), unit)
		if _, err := os.Lstat(path); err == nil && len(files) == 0 {
			files = append(files, path)
		}
		found, _ := filepath.Glob(path + ".d/*.conf") //nolint:errcheck // the pattern is valid
		more = append(more, found...)
	}
	slices.SortStableFunc(more, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	return append(files, more...)
}

// readUnit reads the beginning of a unit file, which is all of a sensible one.
func readUnit(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(raw), err
}

func (t Target) anyFile(dirs []string, name string) bool {
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(t.at(dir), name))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
