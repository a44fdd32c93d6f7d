// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/updates"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

// maxOutput caps the output of a package manager, in bytes: ten thousand updates take about 5 MB.
const maxOutput = 16 << 20

// mainLimit bounds the run of a package manager that lists the updates: on a
// slow disk with cold caches apt takes ten seconds, and beside four others on two processors three times that.
// extraLimit bounds each further run, of which there are at most three and for which less may be left.
const (
	mainLimit  = 35 * time.Second
	extraLimit = 8 * time.Second
)

// A machine is a root directory and a runner of its programs.
type machine struct {
	root   string
	runner sysexec.Runner
}

// A manager is a package manager. To add one, write a file like apk.go, enter it
// in [managers], and name it in the enum of [updates.Report].
type manager interface {
	name() string
	// present reports whether this machine uses the manager: its program and its data are both
	// there.
	present(m machine) bool
	// lists returns what a fetch of the package lists changes where it succeeds; none where they
	// were never fetched.
	lists(m machine) []string
	// pending lists the updates that the manager already knows of, without network access and
	// without waiting for a lock. It leaves Manager empty, and need not report a gap for security
	// updates or withheld packages if the manager never names them.
	pending(ctx context.Context, m machine) (updates.Pending, error)
}

// managers lists the package managers in order of preference: dnf may be installed beside apt, and
// on SUSE beside zypper.
func managers() []manager {
	return []manager{apt{}, zypper{}, dnf{}, pacman{}, apk{}}
}

// Updates queries the package manager of this machine.
type Updates struct {
	m machine
}

var _ updates.Source = (*Updates)(nil)

// NewUpdates returns the Updates of the machine below root, "/" on a live system. It reads nothing.
func NewUpdates(root string, runner sysexec.Runner) *Updates {
	return &Updates{machine{root, runner}}
}

// Pending implements [updates.Source].
func (u *Updates) Pending(ctx context.Context) (updates.Pending, error) {
	if one := u.m.manager(); one != nil {
		return pending(ctx, u.m, one)
	}
	return updates.Pending{}, fault.New(fault.Unsupported, "No package manager that sentinel knows was found: "+knownManagers()+".").
		WithFix("Look for updates with the tools of this distribution.")
}

// manager returns the package manager that this machine uses, nil for none that is known.
func (m machine) manager() manager {
	for _, one := range managers() {
		if one.present(m) {
			return one
		}
	}
	return nil
}

// Lists are the package lists of a machine.
type Lists struct {
	Manager string    // "" for none that is known
	Fetched time.Time // zero for never
	File    string    // which tells so
}

// ListsOf finds the package manager of the machine below root, and when its lists were fetched.
func ListsOf(root string) Lists {
	m := machine{root: root}
	one := m.manager()
	if one == nil {
		return Lists{}
	}
	fetched, file := newest(one.lists(m)...)
	return Lists{one.name(), fetched, strings.TrimPrefix(file, strings.TrimSuffix(m.path("."), "/"))}
}

// pending queries a manager, and adds gaps for what it never reports.
func pending(ctx context.Context, m machine, from manager) (updates.Pending, error) {
	p, err := from.pending(ctx, m)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return updates.Pending{}, err
	}
	p.Manager = from.name()
	if p.Unknown != nil {
		return p, nil
	}
	explained := func(field string) bool {
		return slices.ContainsFunc(p.Gaps, func(g answer.Gap) bool { return g.Field == field })
	}
	if p.Security == nil && !explained("security_updates") {
		p.Gaps.Note("security_updates", p.Manager+" does not say which updates close security holes")
	}
	if p.Withheld == nil && !explained("withheld") {
		p.Gaps.Note("withheld", p.Manager+" does not say what it holds back")
	}
	return p, nil
}

func knownManagers() string {
	var names []string
	for _, one := range managers() {
		names = append(names, one.name())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
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

// runMain runs the program that lists the updates, which changes nothing. It returns an error only
// if the program could not be run at all.
func (m machine) runMain(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return m.run(ctx, sysexec.Command{Path: path, Args: args, Timeout: mainLimit})
}

// runExtra is [machine.runMain] for a program whose answer only adds to the list: it leaves time to return that.
func (m machine) runExtra(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	limit := extraLimit
	if end, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(end)-time.Second)
	}
	if limit <= 0 {
		return sysexec.Result{}, context.DeadlineExceeded
	}
	return m.run(ctx, sysexec.Command{Path: path, Args: args, Timeout: limit})
}

func (m machine) run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	c.MaxOutput = maxOutput
	r, err := m.runner.Run(ctx, c)
	if errors.Is(err, sysexec.ErrOutputTooLarge) {
		return r, fault.New(fault.Unavailable, filepath.Base(c.Path)+" printed more than any list of updates.").
			WithFix("Run it by hand and look at what it prints.")
	}
	return r, err
}

func (m machine) path(name string) string { return filepath.Join(m.root, name) }

func (m machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// firstOf returns the first of some programs that exists, or "".
func (m machine) firstOf(programs ...string) string {
	for _, p := range programs {
		if m.exists(p) {
			return p
		}
	}
	return ""
}

// glob returns the files below the root that match any of the patterns.
func (m machine) glob(patterns ...string) []string {
	var list []string
	for _, p := range patterns {
		if found, err := filepath.Glob(m.path(p)); err == nil {
			list = append(list, found...)
		}
	}
	return list
}

// newest returns the latest modification time of the files, and which it is; the zero time if there
// are none.
func newest(paths ...string) (latest time.Time, file string) {
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.ModTime().After(latest) {
			latest, file = info.ModTime(), p
		}
	}
	return latest, file
}

// errNeverFetched explains why a manager without package lists knows of no updates.
func errNeverFetched(manager string) error {
	return fmt.Errorf("the package lists were never fetched here; fetch them with: %s", updates.RefreshCommand(manager))
}
