// SPDX-License-Identifier: Apache-2.0

// Package updates lists the updates of macOS that are not installed yet, by
// softwareupdate(8).
package updates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/updates"
	"sentinel/platform/darwin/release"
)

const (
	softwareupdate = "/usr/sbin/softwareupdate"
	// limit bounds the run: softwareupdate talks to a service that may not answer
	// for hours.
	limit     = 30 * time.Second
	waitDelay = 500 * time.Millisecond
	maxOutput = 4 << 20
)

// Updates asks what macOS knows of its updates.
//
// It has softwareupdate list what the last scan found (--no-scan), and takes the
// date of that scan from the preferences. A new scan would ask Apple's servers, which takes
// minutes on some networks and never ends on others; macOS scans every day by itself, and the
// answer says how old the list is. Where softwareupdate does not answer in time, or in no known
// form, the list in the preferences is used instead.
//
// Without a scan some releases (seen on macOS 12: munki issue 1141) say that there is nothing new
// although an update of macOS waits. So that sentence is held against the list in the preferences
// and the running build, and where they contradict it nobody is told that nothing waits.
type Updates struct {
	root   string
	runner sysexec.Runner
}

var _ updates.Source = (*Updates)(nil)

// New returns the updates of the Mac whose files are below root, "/" on a live
// system. Nothing is read yet.
func New(root string, runner sysexec.Runner) *Updates { return &Updates{root, runner} }

// Pending implements [updates.Source].
func (u *Updates) Pending(ctx context.Context) (updates.Pending, error) {
	kept, keptErr := readCache(u.root)
	list, err := u.list(ctx)
	if ctx.Err() != nil {
		return updates.Pending{}, ctx.Err()
	}
	if err != nil && kept.updates == nil {
		return updates.Pending{}, noList(err)
	}
	p := pending{updates.Pending{Manager: "softwareupdate", Refreshed: kept.scanned}}
	if kept.scanned.IsZero() && keptErr != nil && !errors.Is(keptErr, fs.ErrNotExist) {
		p.Gaps.Add("info.last_checked", keptErr)
	}
	system, _ := release.Read(ctx, u.runner, u.root) //nolint:errcheck // then the installed version is missing, which is optional
	if err != nil {
		p.fromNotes(kept, system, err)
	} else {
		p.fromList(list, kept, system)
	}
	return p.Pending, nil
}

// list has softwareupdate list what it knows. What it printed before it ended with
// a failure is no list: the rest of it is missing.
func (u *Updates) list(ctx context.Context) ([]entry, error) {
	r, err := u.runner.Run(ctx, sysexec.Command{
		Path: softwareupdate, Args: []string{"--list", "--no-scan"}, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, err
	}
	list, err := parseList(string(r.Stdout))
	if errors.Is(err, errUnknown) {
		list, err = parseNotices(string(r.Stderr))
	}
	if r.Exit != 0 && !errors.As(err, new(failure)) {
		return nil, fmt.Errorf("softwareupdate ended with status %d", r.Exit)
	}
	return list, err
}

// noList is the fault when nothing says which updates there are.
func noList(err error) error {
	const look = "Look for updates in System Settings, General, Software Update, or with: softwareupdate --list"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Unsupported, "There is no "+softwareupdate+" on this system.").WithFix(look)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, fmt.Sprintf("softwareupdate did not answer within %v, and macOS has kept no list.", limit)).
			WithFix("Restart the service that it waits for: sudo launchctl kickstart -k system/com.apple.softwareupdated")
	default:
		return fault.Wrap(fault.Unavailable, "The updates of this Mac cannot be listed", err).WithFix(look)
	}
}

// errNoReboot is why it is not known whether a reboot is due.
var errNoReboot = errors.New("macOS installs what needs a restart during that restart and does not tell whether one was prepared; each update that needs one says so")

// Reboot implements [updates.Source]. It never knows.
func (u *Updates) Reboot(context.Context) (updates.Reboot, error) {
	return updates.Reboot{}, errNoReboot
}

// OSVersion implements [updates.Source].
func (u *Updates) OSVersion(ctx context.Context) (string, error) {
	system, err := release.Read(ctx, u.runner, u.root)
	if err != nil {
		return "", err
	}
	return system.String(), nil
}
