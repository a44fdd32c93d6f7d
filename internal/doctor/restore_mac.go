// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"howett.net/plist"

	"sentinel/internal/services"
)

// The launchd daemon that restores blocked addresses at boot and ends those that
// have expired, and its file, which launchd finds by its directory (launchd.plist(5)).
const (
	restoreLabel = "com.sentinel.restore"
	restorePlist = "/Library/LaunchDaemons/" + restoreLabel + ".plist"
	restoreWatch = "/var/lib/sentinel/watch"
)

// A daemon holds the keys of the file that are checked.
type daemon struct {
	Label            string
	Program          string
	ProgramArguments []string
	RunAtLoad        bool
	StartInterval    int
	KeepAlive        any
	Disabled         bool
}

// repeats reports whether launchd runs it again: at an interval, or while there is the file that
// sentinel makes for as long as there is something to restore.
func (d daemon) repeats() bool {
	keep, ok := d.KeepAlive.(map[string]any)
	if !ok {
		return d.StartInterval > 0
	}
	paths, ok := keep["PathState"].(map[string]any)
	return ok && paths[restoreWatch] == true
}

// program returns what launchd starts.
func (d daemon) program() string {
	if d.Program == "" && len(d.ProgramArguments) > 0 {
		return d.ProgramArguments[0]
	}
	return d.Program
}

// macRestore checks that the daemon is installed and can do its work.
func (t Target) macRestore(ctx context.Context) []Finding {
	const load = "sudo launchctl bootstrap system " + restorePlist
	install := t.installFix()
	if t.nothingToRestore(ctx) {
		return one(OK, "Nothing is blocked, and sentinel is not installed for root, so there is nothing to restore at boot", "")
	}
	d, err := readDaemon(t.at(restorePlist))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, restorePlist+" is not installed; blocks neither come back after a reboot nor end.", install)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, restorePlist+" cannot be read.", asAdministrator)
	case err != nil:
		return one(Problem, restorePlist+" is not a property list: "+err.Error(), install)
	}
	if err := t.Trusted(t.at(restorePlist)); err != nil {
		return one(Problem, "launchd ignores a daemon that anyone but root can change: "+err.Error(), install)
	}
	if d.Label != restoreLabel || !slices.Contains(d.ProgramArguments, "--restore-blocklist") || !d.RunAtLoad || !d.repeats() || d.Disabled {
		return one(Warning, restorePlist+" does not run --restore-blocklist at boot and again while addresses are blocked.", install)
	}
	return t.checkRestoreDaemon(ctx, d.program(), load)
}

func (t Target) checkRestoreDaemon(ctx context.Context, program, load string) []Finding {
	info, err := os.Stat(t.at(program))
	switch {
	case !filepath.IsAbs(program):
		return one(Problem, restoreLabel+" starts a program without its whole path.", t.installFix())
	case errors.Is(err, fs.ErrNotExist):
		return one(Problem, restoreLabel+" starts "+program+", and there is no such program.", t.installFix())
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return one(Problem, restoreLabel+" starts "+program+", which is no program.", t.installFix())
	}
	switch t.unitState(ctx, restoreLabel) {
	case services.NotLoaded, services.SwitchedOff:
		_, enable := t.switchedOff(ctx, restoreLabel)
		return one(Warning, restoreLabel+" is installed and not loaded; blocks neither come back after a reboot nor end.", cmp.Or(enable, load))
	case "failed":
		return one(Problem, restoreLabel+" has failed.", "See why with: sudo sentinel --restore-blocklist")
	}
	return one(OK, restoreLabel+" is installed, and what it starts is there", "")
}

// readDaemon reads the file. The library takes any text for an old-style property
// list, which launchd does not read.
func readDaemon(path string) (daemon, error) {
	raw, err := readUnit(path)
	if err != nil {
		return daemon{}, err
	}
	var d daemon
	format, err := plist.Unmarshal([]byte(raw), &d)
	if err == nil && format != plist.XMLFormat && format != plist.BinaryFormat {
		err = errors.New("it is neither XML nor binary")
	}
	return d, err
}
