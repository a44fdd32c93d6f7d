// SPDX-License-Identifier: Apache-2.0

// Package updates says which updates this machine waits for, how old that
// knowledge is, and whether a reboot is due.
//
// It repeats what the package manager knows already: nothing is fetched, and no
// package is changed. What would be installed by an update of everything is an update;
// what the manager holds back is listed apart.
package updates

import (
	"context"
	"fmt"
	"time"

	"sentinel/internal/answer"
)

// A Source asks the package manager of this machine. Each method may be called
// once per answer.
type Source interface {
	// Pending asks what an update of everything would change. It fails with
	// UNSUPPORTED where no known manager is, and with UNAVAILABLE where the manager is
	// locked or its data is damaged.
	Pending(ctx context.Context) (Pending, error)
	// Reboot says whether updates that are installed wait for a reboot.
	Reboot(ctx context.Context) (Reboot, error)
	// OSVersion names the operating system with its version.
	OSVersion(ctx context.Context) (string, error)
}

// Pending is what a package manager would do, in its own words.
type Pending struct {
	Manager string // "apt"; "softwareupdate" on macOS
	// Unknown says why the manager cannot tell what is pending although it
	// works, such as lists that were never fetched. Everything below is then empty.
	Unknown error
	Updates []Package
	// Security names the updates that close security holes: packages, or the
	// advisories of a manager that sorts by those. Nil is unknown, with the reason in Gaps.
	Security []string
	Withheld []Withheld // nil is unknown
	Extra    *Extra     // nil where the manager does not plan that far
	// Refreshed is when the lists last changed or were last found to be
	// current; the zero time is unknown.
	Refreshed time.Time
	Busy      bool        // another program holds the lock of the manager
	Gaps      answer.Gaps // what is missing besides, by the fields of Report
}

// A Package is one update.
type Package struct {
	Name      string
	Current   string // "" when unknown
	Candidate string
	Security  *bool  // nil is unknown
	Origin    string // where the candidate comes from; "" when unknown
	Label     string // what the manager is to be told to install it, where that is not the name
	Restart   *bool  // installing it restarts the machine or shuts it down; nil is unknown
}

// The reasons why an update waits.
const (
	Held     = "held"      // somebody of this machine decided so
	Phased   = "phased"    // its publisher hands it out to some machines at a time
	KeptBack = "kept back" // it does not fit with what is installed
)

// Withheld is a newer version that an update of everything would not install.
type Withheld struct {
	Name, Current, Candidate string // versions are "" when unknown
	Reason                   string // Held, Phased or KeptBack
}

// Extra counts what an update of everything would do besides updating.
type Extra struct {
	Installs, Removes int
}

// A Reboot says whether one is due.
type Reboot struct {
	Due    bool
	Reason string // a sentence when due
}

// SecurityNames returns the updates that close security holes, as [Pending] names
// them. It is an error when that is not known.
func SecurityNames(ctx context.Context, source Source) ([]string, error) {
	p, err := source.Pending(ctx)
	switch {
	case err != nil:
		return nil, err
	case p.Unknown != nil:
		return nil, p.Unknown
	case p.Security == nil:
		return nil, fmt.Errorf("%s does not say which updates close security holes", p.Manager)
	}
	return p.Security, nil
}
