// SPDX-License-Identifier: Apache-2.0

// Package updates reports the pending updates of this machine, how old that
// information is, and whether a reboot is needed.
//
// It repeats what the package manager already knows: nothing is fetched, and no
// package is changed. An update is whatever updating everything would install;
// updates that the manager holds back are listed separately.
package updates

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
)

// A Source asks the package manager of this machine. Each method may be called once
// per answer.
type Source interface {
	// Pending asks what updating everything would change. It fails with UNSUPPORTED
	// if there is no known manager, and with UNAVAILABLE if the manager is locked
	// or its data is damaged.
	Pending(ctx context.Context) (Pending, error)
	// Reboot says whether installed updates need a reboot.
	Reboot(ctx context.Context) (Reboot, error)
	// OSVersion returns the name and version of the operating system.
	OSVersion(ctx context.Context) (string, error)
}

// Pending is what a package manager would do, in its own terms.
type Pending struct {
	Manager string // "apt"; "softwareupdate" on macOS
	// Unknown says why the manager cannot list pending updates although it works,
	// for example because its lists were never fetched. Everything below is then
	// empty.
	Unknown error
	Updates []Package
	// Security names the updates that close security holes: packages, or advisories
	// if the manager lists those. Nil is unknown, with the reason in Gaps.
	Security []string
	Withheld []Withheld // nil is unknown
	Extra    *Extra     // nil where the manager does not plan that far
	// Refreshed is when the lists last changed or were last found current; the zero
	// time is unknown.
	Refreshed time.Time
	Doubt     error       // why no update in the lists does not mean that none waits; nil where it does
	Busy      bool        // another program holds the lock of the manager; false with [BusyField] in Gaps is unknown
	Gaps      answer.Gaps // what else is missing, by the fields of Report
}

// BusyField is the field of Report that tells whether another program uses the manager.
const BusyField = "busy"

// maxListAge is how old package lists may be in which no update shows that none waits: those of a
// machine that fetches them each week at least, which is what the audit passes.
const maxListAge = 7 * 24 * time.Hour

// refreshing are the commands that fetch the package lists anew, by manager.
var refreshing = map[string]string{
	"apt": "sudo apt-get update", "apk": "sudo apk update", "pacman": "sudo pacman -Syu", "zypper": "sudo zypper refresh", "dnf": "sudo dnf makecache",
	"softwareupdate": "sudo softwareupdate --list",
}

// RefreshCommand returns the command that fetches the package lists of a manager anew; "" for one
// that is not known.
func RefreshCommand(manager string) string { return refreshing[manager] }

// Outdated says that the package lists are too old to show that no update waits, or of no known age.
func (r Report) Outdated() bool {
	return r.ListAgeSeconds == nil || *r.ListAgeSeconds > int64(maxListAge/time.Second)
}

// doubt says why lists without an update do not show that none waits; nil if they do.
func (p Pending) doubt(now time.Time) error {
	age := now.Sub(p.Refreshed)
	switch {
	case p.Doubt != nil:
		return p.Doubt
	case p.Refreshed.IsZero():
		return errNoTime
	case inFuture(p.Refreshed, now):
		return errFuture
	case age > maxListAge:
		return fmt.Errorf("the package lists are %s old, and know of no newer update", humanize.Duration(int64(age.Seconds())))
	}
	return nil
}

// inFuture says that the date of the lists is of no use. A clock may be set a little.
func inFuture(refreshed, now time.Time) bool { return refreshed.After(now.Add(time.Minute)) }

// A Package is one update.
type Package struct {
	Name      string
	Current   string // "" when unknown
	Candidate string
	Security  *bool  // nil is unknown
	Origin    string // where the candidate comes from; "" when unknown
	Label     string // the name by which the manager installs it, if that is another
	Restart   *bool  // installing it restarts the machine or shuts it down; nil is unknown
}

// The reasons why an update is withheld.
const (
	Held     = "held"      // held by an administrator of this machine
	Phased   = "phased"    // its publisher rolls it out to some machines at a time
	KeptBack = "kept back" // it conflicts with what is installed
)

// Withheld is a newer version that updating everything would not install.
type Withheld struct {
	Name, Current, Candidate string // versions are "" when unknown
	Reason                   string // Held, Phased or KeptBack
	Security                 *bool  // it closes security holes; nil is unknown
}

// Extra counts what updating everything would do besides updating.
type Extra struct {
	Installs, Removes int
}

// A Reboot says whether a reboot is needed.
type Reboot struct {
	Due    bool
	Reason string // a sentence, if a reboot is needed
}

// SecurityNames returns the updates that close security holes, as [Pending] names
// them, and those that are withheld with the reason: "openssl (held)". It is an error when they are
// unknown, or when there is none and that shows nothing.
func SecurityNames(ctx context.Context, source Source, now time.Time) ([]string, error) {
	p, err := source.Pending(ctx)
	switch {
	case err != nil:
		return nil, err
	case p.Unknown != nil:
		return nil, p.Unknown
	case p.Security == nil:
		return nil, fmt.Errorf("%s does not say which updates close security holes", p.Manager)
	}
	names, unsure := slices.Clone(p.Security), 0
	for _, w := range p.Withheld {
		switch {
		case w.Security == nil:
			unsure++
		case *w.Security:
			names = append(names, w.Name+" ("+w.Reason+")")
		}
	}
	switch {
	case len(names) > 0:
		return names, nil
	case unsure > 0:
		return nil, errUnsure(unsure)
	default:
		return names, p.doubt(now)
	}
}

// errUnsure says that nobody knows of some withheld updates whether they close security holes.
func errUnsure(withheld int) error {
	return fmt.Errorf("whether %s security holes is not known", humanize.Count(withheld, "withheld update closes", "withheld updates close"))
}
