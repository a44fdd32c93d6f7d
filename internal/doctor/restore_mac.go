// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"howett.net/plist"

	"sentinel/internal/fault"
)

// The daemon of launchd that brings blocked addresses back at boot and ends
// them in time, and its file, which launchd finds by its directory (launchd.plist(5)).
const (
	restoreLabel = "com.sentinel.restore"
	restorePlist = "/Library/LaunchDaemons/" + restoreLabel + ".plist"
)

// A daemon is what matters of the file.
type daemon struct {
	Label            string
	Program          string
	ProgramArguments []string
	RunAtLoad        bool
	StartInterval    int
	Disabled         bool
}

// program returns what launchd starts.
func (d daemon) program() string {
	if d.Program == "" && len(d.ProgramArguments) > 0 {
		return d.ProgramArguments[0]
	}
	return d.Program
}

// macRestore looks for that daemon and whether it can do its work.
func (p Target) macRestore(ctx context.Context) []Finding {
	const (
		load    = "sudo launchctl bootstrap system " + restorePlist
		install = "sudo install -o root -g wheel -m 0644 packaging/launchd/" + restoreLabel + ".plist /Library/LaunchDaemons/ && " + load
	)
	d, err := readDaemon(p.at(restorePlist))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, restorePlist+" is not installed; blocks neither come back after a reboot nor end.", install)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, restorePlist+" cannot be read.", "Run: sudo sentinel --doctor")
	case err != nil:
		return one(Problem, restorePlist+" is no property list: "+err.Error(), install)
	}
	if err := p.Trusted(p.at(restorePlist)); err != nil {
		return one(Problem, "launchd starts nothing that others than root can change: "+err.Error(), install)
	}
	if d.Label != restoreLabel || !slices.Contains(d.ProgramArguments, "--restore-blocklist") || !d.RunAtLoad || d.StartInterval <= 0 || d.Disabled {
		return one(Warning, restorePlist+" does not run --restore-blocklist at boot and at an interval.", install)
	}
	return p.macRestores(ctx, d.program(), load)
}

func (p Target) macRestores(ctx context.Context, program, load string) []Finding {
	info, err := os.Stat(p.at(program))
	switch {
	case !filepath.IsAbs(program):
		return one(Problem, restoreLabel+" starts a program without its whole path.", p.install())
	case errors.Is(err, fs.ErrNotExist):
		return one(Problem, restoreLabel+" starts "+program+", and there is no such program.", p.install())
	case err == nil && (!info.Mode().IsRegular() || info.Mode()&0o111 == 0):
		return one(Problem, restoreLabel+" starts "+program+", which is no program.", p.install())
	}
	if p.UnitState != nil {
		state, err := p.UnitState(ctx, restoreLabel)
		switch {
		case err != nil && fault.From(err).Code == fault.ServiceNotFound:
			return one(Warning, restoreLabel+" is installed and not loaded; it will be at the next boot.", load)
		case err == nil && state == "failed":
			return one(Problem, restoreLabel+" has failed.", "See what it answers: sudo sentinel --restore-blocklist")
		}
	}
	return one(OK, restoreLabel+" is installed, and what it starts is there", "")
}

// readDaemon reads the file. The library takes anything for an old-style list,
// which launchd does not know.
func readDaemon(path string) (daemon, error) {
	raw, err := readUnit(path)
	if err != nil {
		return daemon{}, err
	}
	var d daemon
	format, err := plist.Unmarshal([]byte(raw), &d)
	if err == nil && format != plist.XMLFormat && format != plist.BinaryFormat {
		err = errors.New("it has another form")
	}
	return d, err
}
