// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"sentinel/internal/fault"
)

// refuseRun refuses what another run of this program as root may be making a change with: the run itself, what lends it
// its rights, such as sudo, and what it has started, such as the program that changes the firewall.
func (p *Termination) refuseRun(ctx context.Context) *fault.Error {
	why := ""
	switch {
	case p.isRun(ctx):
		why = "it is"
	case p.carriesRun(ctx):
		why = "it carries"
	case p.startedByRun(ctx):
		why = "it was started by"
	default:
		return nil
	}
	return p.protectedAs(why + " another run of sentinel as root, which may be in the middle of a change").
		WithFix("Wait for it: it ends by itself within two minutes, and one that does not go on is ended by the next that needs its lock; or add --force on the command line.")
}

// isRun reports whether the process is a run of this program as root, by the file that runs: a name is its owner's
// choice. A copy elsewhere has the name of this one and is root's alone, as a member may be let run one and root
// another. One in a container belongs to the container.
func (p *Termination) isRun(ctx context.Context) bool {
	own, err := os.Executable()
	if err != nil || p.facts.UserID != 0 || p.facts.Nested {
		return false
	}
	if p.facts.Executable == own {
		return true
	}
	if p.facts.Program() != filepath.Base(own) {
		return false
	}
	file, err := p.programFile(ctx, p.pinned)
	return err != nil || file.System && !file.Lent
}

// lends reports whether the process has rights from its program (the set-user-ID or set-group-ID bit), and that is of
// the system: a user can have files lend what is the user's.
func (p *Termination) lends(ctx context.Context) bool {
	if !p.facts.Lent {
		return false
	}
	file, err := p.programFile(ctx, p.pinned)
	return err == nil && file.System
}

// maxCarried bounds how many processes are looked at that descend from one that lends rights. sudo starts no more than
// another of itself and the run; a shell that it started may have any number below it.
const maxCarried = 8

// carriesRun reports whether the process lends rights to a run of root's, itself or through others that do. A shell
// in between ends it: whose run that starts is its user's to end.
func (p *Termination) carriesRun(ctx context.Context) bool {
	if !p.lends(ctx) {
		return false
	}
	below, err := p.source.Below(ctx, p.target.PID)
	if err != nil {
		return false
	}
	lending := []int{p.target.PID} // the oldest come first, and so parents before their children
	for _, r := range below[:min(len(below), maxCarried)] {
		run, lends := p.carried(ctx, r.PID, lending)
		if run {
			return true
		}
		if lends {
			lending = append(lending, r.PID)
		}
	}
	return false
}

// carried looks at a process that one of those that lend rights may have started.
func (p *Termination) carried(ctx context.Context, pid int, lending []int) (run, lends bool) {
	other, err := hold(ctx, p.source, pid)
	if err != nil {
		return false, false
	}
	defer other.Close()
	if !slices.Contains(lending, other.facts.Parent.PID) {
		return false, false
	}
	return other.isRun(ctx), other.lends(ctx)
}

// maxAbove bounds how many parents of a process are looked at: what a run starts may be a script, which starts others.
const maxAbove = 4

// startedByRun reports whether the process descends from a run of root's that is not this one, through programs of
// root's: a run starts nothing as another user.
func (p *Termination) startedByRun(ctx context.Context) bool {
	user, above := p.facts.UserID, p.facts.Parent.PID
	for range maxAbove {
		if user != 0 || above <= 1 || above == os.Getpid() {
			return false
		}
		parent, err := hold(ctx, p.source, above)
		if err != nil {
			return false
		}
		defer parent.Close() //nolint:gocritic // of four at most
		if parent.isRun(ctx) {
			return true
		}
		user, above = parent.facts.UserID, parent.facts.Parent.PID
	}
	return false
}
