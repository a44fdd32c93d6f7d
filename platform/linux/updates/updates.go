// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/updates"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

// maxPlan caps what a package manager may print, in bytes: a machine that waits
// for ten thousand updates prints about 5 MB.
const maxPlan = 16 << 20

// planLimit bounds the run of a package manager that lists the updates: on a
// slow disk with cold caches apt takes ten seconds. asideLimit bounds each further run,
// of which there are at most two.
const (
	planLimit  = 25 * time.Second
	asideLimit = 8 * time.Second
)

// A machine is what package managers run on.
type machine struct {
	root   string
	runner sysexec.Runner
}

// A manager is a package manager. It reads what it knows already: no network,
// no lock that it would wait for.
type manager interface {
	// present says whether this machine gets its packages by it: its program
	// and its data are both there.
	present(m machine) bool
	pending(ctx context.Context, m machine) (updates.Pending, error)
}

// managers lists the package managers, the one that decides first: apt is
// where dnf was installed beside it, and SUSE has dnf as an extra.
func managers() []manager {
	return []manager{apt{}, zypper{}, dnf{}, pacman{}, apk{}}
}

// Updates asks the package manager of this machine.
type Updates struct {
	m machine
}

var _ updates.Source = (*Updates)(nil)

// NewUpdates returns the updates of the machine below root, "/" on a live
// system. Nothing is read yet.
func NewUpdates(root string, runner sysexec.Runner) *Updates {
	return &Updates{machine{root, runner}}
}

// Pending implements [updates.Source].
func (u *Updates) Pending(ctx context.Context) (updates.Pending, error) {
	for _, one := range managers() {
		if one.present(u.m) {
			return one.pending(ctx, u.m)
		}
	}
	return updates.Pending{}, fault.New(fault.Unsupported, "No package manager that sentinel knows is here: apt, dnf, zypper, pacman or apk.").
		WithFix("Look for updates with the tools of this distribution.")
}

// Reboot implements [updates.Source].
func (u *Updates) Reboot(context.Context) (updates.Reboot, error) {
	running, err := procfs.New(u.m.root).KernelRelease()
	if err != nil {
		return updates.Reboot{}, err
	}
	due, err := RebootRequired(u.m.root, running)
	if err != nil || !due {
		return updates.Reboot{}, err
	}
	return updates.Reboot{Due: true, Reason: rebootReason(u.m.root, running)}, nil
}

// OSVersion implements [updates.Source].
func (u *Updates) OSVersion(context.Context) (string, error) {
	system, err := release.New(u.m.root).OS()
	return system.PrettyName, err
}

// plan runs the program that lists the updates, which changes nothing. Only a
// program that could not be run at all is an error.
func (m machine) plan(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return m.run(ctx, planLimit, path, args)
}

// aside runs a program like [machine.plan] whose answer can be done without.
func (m machine) aside(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return m.run(ctx, asideLimit, path, args)
}

func (m machine) run(ctx context.Context, limit time.Duration, path string, args []string) (sysexec.Result, error) {
	r, err := m.runner.Run(ctx, sysexec.Command{Path: path, Args: args, MaxOutput: maxPlan, Timeout: limit})
	if errors.Is(err, sysexec.ErrOutputTooLarge) {
		return r, fault.New(fault.Unavailable, filepath.Base(path)+" printed more than any list of updates is long.").
			WithFix("Run it by hand and look at what it prints.")
	}
	return r, err
}

func (m machine) path(name string) string { return filepath.Join(m.root, name) }

func (m machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// first returns the first of some programs that is there, or "".
func (m machine) first(programs ...string) string {
	for _, p := range programs {
		if m.exists(p) {
			return p
		}
	}
	return ""
}

// glob returns the files that match one of some patterns below the root.
func (m machine) glob(patterns ...string) []string {
	var list []string
	for _, p := range patterns {
		if found, err := filepath.Glob(m.path(p)); err == nil {
			list = append(list, found...)
		}
	}
	return list
}

// newest returns the latest time at which one of some files was written, zero
// for none.
func newest(paths ...string) time.Time {
	var latest time.Time
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest
}

// neverFetched is the reason why a manager without lists knows of no updates.
func neverFetched(fetch string) error {
	return fmt.Errorf("the package lists were never fetched here; fetch them with: %s", fetch)
}
