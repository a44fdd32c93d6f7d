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

// unitDirectories are where systemd finds units, those of the administrator first
// (systemd.unit(5)).
func unitDirs() []string {
	return []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
}

// restore looks for the units that bring blocked addresses back at boot and end
// them in time. They are enabled when another unit wants them.
func restore(ctx context.Context, p Target) []Finding {
	if p.mac() {
		return p.macRestore(ctx)
	}
	const fix = "sudo install -m 0644 packaging/systemd/sentinel-restore.* /etc/systemd/system/ && sudo systemctl daemon-reload && sudo systemctl enable --now sentinel-restore.service sentinel-restore.timer"
	if info, err := os.Lstat(p.at("/run/systemd/system")); err != nil || !info.IsDir() { // sd_booted(3)
		return one(Unknown, "systemd does not run here.", "Have this machine run at boot and every minute: sentinel --restore-blocklist")
	}
	for _, unit := range []string{"sentinel-restore.service", "sentinel-restore.timer"} {
		if !p.anyFile(unitDirs(), unit) {
			return one(Warning, unit+" is not installed; blocks do not come back after a reboot.", fix)
		}
		if !p.anyFile([]string{"/etc/systemd/system/*.wants", "/usr/lib/systemd/system/*.wants", "/lib/systemd/system/*.wants"}, unit) {
			return one(Warning, unit+" is not enabled; blocks do not come back after a reboot.", "sudo systemctl enable --now sentinel-restore.service sentinel-restore.timer")
		}
	}
	return p.restores(ctx)
}

// restores looks whether the units that are enabled can do their work.
func (p Target) restores(ctx context.Context) []Finding {
	const service, timer = "sentinel-restore.service", "sentinel-restore.timer"
	program := p.started(service)
	info, err := os.Stat(p.at(program))
	switch {
	case program == "":
		return one(Problem, service+" starts no program; it is empty or masked.", "See what it is with: systemctl cat "+service)
	case errors.Is(err, fs.ErrNotExist):
		return one(Problem, service+" starts "+program+", and there is no such program.", p.install())
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return one(Problem, service+" starts "+program+", which is no program.", p.install())
	}
	for _, unit := range []string{service, timer} {
		if p.UnitState == nil {
			break
		}
		if state, err := p.UnitState(ctx, unit); err == nil && state == "failed" {
			return one(Problem, unit+" has failed.", "See why with: systemctl status "+unit)
		}
	}
	return one(OK, service+" and "+timer+" are installed and enabled, and what they start is there", "")
}

// started returns the program that a service starts: that of its last ExecStart=,
// in its file or in what stands beside it (systemd.service(5), systemd.unit(5)).
func (p Target) started(unit string) string {
	program := ""
	for _, path := range p.unitFiles(unit) {
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

// unitFiles returns the file of a unit that counts and those that add to it.
func (p Target) unitFiles(unit string) []string {
	var files, more []string
	for _, dir := range unitDirs() {
		path := filepath.Join(p.at(dir), unit)
		if _, err := os.Lstat(path); err == nil && len(files) == 0 {
			files = append(files, path)
		}
		found, _ := filepath.Glob(path + ".d/*.conf") //nolint:errcheck // the pattern is a good one
		more = append(more, found...)
	}
	slices.SortStableFunc(more, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	return append(files, more...)
}

// readUnit reads as much of a unit file as a sensible one has.
func readUnit(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(raw), err
}

func (p Target) anyFile(dirs []string, name string) bool {
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(p.at(dir), name))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
