// SPDX-License-Identifier: Apache-2.0

// Package updates lists the updates of macOS that are not installed yet, by
// softwareupdate(8).
package updates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
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
	p := updates.Pending{Manager: "softwareupdate", Refreshed: kept.scanned}
	listed := err == nil
	switch {
	case !listed && kept.updates != nil:
		list = kept.updates
		p.Gaps.Note("info.updates", "taken from what macOS noted down at its last scan, some of which may be installed by now, because "+answer.Reason(err))
	case !listed:
		return updates.Pending{}, noList(err)
	}
	if kept.scanned.IsZero() && keptErr != nil && !errors.Is(keptErr, fs.ErrNotExist) {
		p.Gaps.Add("info.last_checked", keptErr)
	}
	system, _ := release.Read(ctx, u.runner, u.root) //nolint:errcheck // then the installed version is missing, which is optional
	u.sort(&p, list, system, listed)
	return p, nil
}

// list has softwareupdate list what it knows.
func (u *Updates) list(ctx context.Context) ([]entry, error) {
	r, err := u.runner.Run(ctx, sysexec.Command{
		Path: softwareupdate, Args: []string{"--list", "--no-scan"}, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, err
	}
	list, err := parseList(string(r.Stdout))
	if !errors.Is(err, errUnknown) {
		return list, err
	}
	for line := range strings.Lines(string(r.Stderr)) {
		line = strings.TrimSpace(line)
		if line == noUpdates {
			return []entry{}, nil
		}
		if said := errorText(line); said != "" {
			return nil, failure{said}
		}
	}
	return nil, err
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

// sort splits the entries into updates, withheld ones and those for security.
func (u *Updates) sort(p *updates.Pending, list []entry, system release.OS, listed bool) {
	p.Updates, p.Withheld, p.Security = []updates.Package{}, []updates.Withheld{}, []string{}
	unsure := 0
	for _, e := range list {
		switch {
		case e.installed(system), !listed && e.notNewer(system):
		case e.deferred:
			p.Withheld = append(p.Withheld, updates.Withheld{Name: e.title, Current: e.current(system), Candidate: e.version, Reason: updates.Held})
		default:
			one := e.pending(system, listed)
			p.Updates = append(p.Updates, one)
			if one.Security == nil {
				unsure++
			} else if *one.Security {
				p.Security = append(p.Security, one.Name)
			}
		}
	}
	if unsure == 0 {
		return
	}
	p.Gaps.Note("security_updates", "Apple's list does not say what an update fixes; only those whose title says so are known, and most updates of macOS and Safari close security holes")
	if len(p.Security) == 0 {
		p.Security = nil
	}
}

// pending is an entry as an update. Only softwareupdate says whether a restart
// is needed.
func (e entry) pending(system release.OS, listed bool) updates.Package {
	one := updates.Package{Name: e.title, Current: e.current(system), Candidate: e.version, Label: e.label, Origin: "Apple"}
	if listed {
		one.Restart = new(e.restart)
	}
	if e.security() {
		one.Security = new(true)
	}
	return one
}

// security says whether the title of an update is that of one for security: Apple's
// security updates, its rapid ones under both of their names, and the lists of what macOS does
// not let run. No title says that an update is not for security.
func (e entry) security() bool {
	title := e.title + " " + e.label
	for _, words := range []string{"Security Update", "Security Response", "Background Security", "XProtect", "MRTConfigData", "Gatekeeper"} {
		if strings.Contains(title, words) {
			return true
		}
	}
	return false
}

// ofSystem says whether an entry is macOS itself.
func (e entry) ofSystem() bool { return strings.HasPrefix(e.title, "macOS ") }

// current is what is installed of an entry, where that is known.
func (e entry) current(system release.OS) string {
	if e.ofSystem() {
		return system.Full()
	}
	return ""
}

// installed says whether an entry is the macOS that runs. The list of the last
// scan still holds what was installed since.
func (e entry) installed(system release.OS) bool {
	if !e.ofSystem() || system.Build == "" {
		return false
	}
	return strings.HasSuffix(e.label, "-"+system.Build) || strings.Contains(e.label, "_"+system.Build+"_")
}

// notNewer says whether a macOS in the preferences, which name no build, is not
// newer than the one that runs.
func (e entry) notNewer(system release.OS) bool {
	offered, running := numbers(e.version), numbers(system.Version)
	return e.ofSystem() && len(offered) > 0 && len(running) > 0 && slices.Compare(offered, running) <= 0
}

// numbers reads a version such as 26.6.1, up to the first part that is no number.
func numbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list
}

// errNoReboot is why it is not known whether a reboot is due.
var errNoReboot = errors.New("macOS installs what needs a restart during that restart and does not tell whether one was prepared; packages.restart says which updates need one")

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
