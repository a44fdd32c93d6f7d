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

// restore checks the units that restore blocked addresses at boot and end those
// that have expired. They are enabled when another unit wants them.
func restore(ctx context.Context, t Target) []Finding {
	if t.mac() {
		return t.macRestore(ctx)
	}
	const fix = "sudo install -m 0644 packaging/systemd/sentinel-restore.* /etc/systemd/system/ && sudo systemctl daemon-reload && sudo systemctl enable --now sentinel-restore.service sentinel-restore.timer"
	if info, err := os.Lstat(t.at("/run/systemd/system")); err != nil || !info.IsDir() { // sd_booted(3)
		return one(Unknown, "systemd does not run here.", "Have this machine run at boot and every minute: sentinel --restore-blocklist")
	}
	for _, unit := range []string{"sentinel-restore.service", "sentinel-restore.timer"} {
		if !t.anyFile(unitDirs(), unit) {
			return one(Warning, unit+" is not installed; blocks do not come back after a reboot.", fix)
		}
		if !t.anyFile([]string{"/etc/systemd/system/*.wants", "/usr/lib/systemd/system/*.wants", "/lib/systemd/system/*.wants"}, unit) {
			return one(Warning, unit+" is not enabled; blocks do not come back after a reboot.", "sudo systemctl enable --now sentinel-restore.service sentinel-restore.timer")
		}
	}
	return t.checkRestoreUnits(ctx)
}

// checkRestoreUnits checks whether the enabled units can do their work.
func (t Target) checkRestoreUnits(ctx context.Context) []Finding {
	const service, timer = "sentinel-restore.service", "sentinel-restore.timer"
	program := t.programOf(service)
	info, err := os.Stat(t.at(program))
	switch {
	case program == "":
		return one(Problem, service+" starts no program; it is empty or masked.", "See what it is with: systemctl cat "+service)
	case errors.Is(err, fs.ErrNotExist):
		return one(Problem, service+" starts "+program+", and there is no such program.", t.installFix())
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return one(Problem, service+" starts "+program+", which is no program.", t.installFix())
	}
	for _, unit := range []string{service, timer} {
		if t.UnitState == nil {
			break
		}
		if state, err := t.UnitState(ctx, unit); err == nil && state == "failed" {
			return one(Problem, unit+" has failed.", "See why with: systemctl status "+unit)
		}
	}
	return one(OK, service+" and "+timer+" are installed and enabled, and what they start is there", "")
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
