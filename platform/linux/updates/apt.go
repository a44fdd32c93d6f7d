// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/updates"
	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

// The default paths of apt's and dpkg's data. Other configured paths are not read.
const (
	dpkgStatus = "var/lib/dpkg/status"
	aptLists   = "var/lib/apt/lists"
)

// maxStatus caps the status file of dpkg, in bytes. A full desktop has 6 MB.
const maxStatus = 64 << 20

// apt is the package manager of Debian and Ubuntu.
type apt struct{}

func (apt) name() string { return "apt" }

func (apt) present(m machine) bool {
	info, err := os.Stat(m.path(dpkgStatus))
	return err == nil && info.Size() > 0 && m.exists("usr/bin/apt-get")
}

// pending has apt plan an update of everything, which needs neither root nor a lock nor the network.
func (a apt) pending(ctx context.Context, m machine) (updates.Pending, error) {
	plan, err := a.plan(ctx, m)
	if err != nil {
		return updates.Pending{}, err
	}
	if len(plan.updates) == 0 && !anyInstalled(m) {
		return updates.Pending{}, fault.New(fault.Unavailable, "The list of installed packages, /var/lib/dpkg/status, names none: it is damaged.").
			WithFix("Restore /var/lib/dpkg/status-old, or a copy from /var/backups, then run: sudo dpkg --audit")
	}
	p := updates.Pending{Updates: plan.updates, Extra: &plan.extra}
	p.Busy, err = m.locked("var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock", aptLists+"/lock")
	p.Gaps.Add(updates.BusyField, err)
	lists := a.lists(m)
	if lists == nil && len(plan.updates) == 0 {
		return updates.Pending{Busy: p.Busy, Gaps: p.Gaps, Unknown: errNeverFetched("apt")}, nil
	}
	p.Withheld = append(append([]updates.Withheld{}, plan.phased...), plan.kept...)
	from := a.sources(ctx, m, &p)
	from.mark(&p)
	if lists != nil {
		p.Refreshed, _ = newest(lists...)
		a.security(m, &p)
	}
	a.withheld(m, plan, from, &p)
	return p, nil
}

// anyInstalled reports whether dpkg lists any installed package. apt takes an empty list for a
// machine with no packages.
func anyInstalled(m machine) bool {
	raw, err := hostfile.Read(m.path(dpkgStatus), maxStatus)
	return err != nil || bytes.Contains(raw, []byte(" ok installed\n"))
}

var errNoSecurityArchive = errors.New("none of the package lists here is one of a security archive")

// security marks the security updates as unknown if no list comes from a security archive.
func (apt) security(m machine, p *updates.Pending) {
	if len(p.Security) > 0 || len(m.glob(aptLists+"/*[Ss]ecurity*")) > 0 {
		return
	}
	p.Security = nil
	for i := range p.Updates {
		p.Updates[i].Security = nil
	}
	p.Gaps.Add("security_updates", errNoSecurityArchive)
	if system, err := release.New(m.root).OS(); err == nil && system.HasSecurityArchive() {
		p.Doubt = errNoSecurityArchive
	}
}

// lists are the directory, which changes when one of the lists in it does, and the stamp of a refresh
// in which not everything failed. The directory of what is being fetched changes in each refresh,
// and the timer's update-stamp where apt-get ends with 0, as it does without a network: neither counts.
func (apt) lists(m machine) []string {
	if len(m.glob(aptLists+"/*_Packages", aptLists+"/*_Packages.*")) == 0 {
		return nil
	}
	return []string{m.path(aptLists), m.path("var/lib/apt/periodic/update-success-stamp")}
}

// securityNames names the updates that are known to be for security; never nil.
func securityNames(list []updates.Package) []string {
	names := []string{}
	for _, p := range list {
		if p.Security != nil && *p.Security {
			names = append(names, p.Name)
		}
	}
	return names
}

// withheld determines why each package is kept back, and whether that keeps a security hole open.
func (a apt) withheld(m machine, plan aptPlan, from aptSources, p *updates.Pending) {
	if len(plan.kept) > 0 {
		held, err := heldPackages(m)
		p.Gaps.Add("held", err)
		for i := range p.Withheld {
			if w := &p.Withheld[i]; w.Reason == updates.KeptBack && held[w.Name] {
				w.Reason = updates.Held
			}
		}
	}
	// An apt that lists phased updates separately has left none among the others; before version 2.5.4 it does not.
	phased := len(p.Withheld) > 0 && len(plan.phased) == 0
	if phased && from.policies == nil {
		p.Gaps.Note("phased", "apt-cache did not say which packages are phased; they count as kept back")
	}
	for i := range p.Withheld {
		w := &p.Withheld[i]
		policy, told := from.policies[w.Name]
		if phased && w.Reason == updates.KeptBack && told && policy.candidate == w.Candidate && policy.candidatePhased() {
			w.Reason = updates.Phased
		}
		if told && p.Security != nil && len(from.archives) > 0 {
			w.Security = new(slices.ContainsFunc(policy.newer(), func(archive string) bool { return from.archives[archive].security }))
		}
	}
}

// heldPackages returns the packages that are on hold in the status file of
// dpkg, each as "name" and as "name:architecture".
func heldPackages(m machine) (map[string]bool, error) {
	raw, err := hostfile.Read(m.path(dpkgStatus), maxStatus)
	if err != nil {
		return nil, err
	}
	return parseHeld(raw), nil
}

// parseHeld reads dpkg's status file, deb822(5). The fields of a package are in
// the order Package, Status, Architecture, with others between them.
func parseHeld(raw []byte) map[string]bool {
	held := map[string]bool{}
	if !bytes.Contains(raw, []byte("\nStatus: hold ")) {
		return held
	}
	name, hold := "", false
	for line := range bytes.Lines(raw) {
		key, value, _ := strings.Cut(string(bytes.TrimSpace(line)), ": ")
		switch {
		case key == "Package":
			name, hold = value, false
		case key == "Status":
			hold = strings.HasPrefix(value, "hold ")
			if hold {
				held[name] = true
			}
		case key == "Architecture" && hold:
			held[name+":"+value] = true
		}
	}
	return held
}

func aptErrors() []knownError {
	lists := "Delete the file that the message names, or all of /var/lib/apt/lists, then run: sudo apt-get update"
	return []knownError{
		{"Permission denied", fault.PermissionDenied, "apt may not read its data without root", "Run: sudo sentinel --check-updates"},
		{"No space left on device", fault.Unavailable, "A file system is full, so apt cannot work", "Make room where the message says; see what fills it with: sudo sentinel --disk-usage"},
		{"list of sources could not be read", fault.Unavailable, "apt cannot read its list of sources", "Correct the file in /etc/apt that the message names, then run: sudo apt-get update"},
		{"/" + filepath.Dir(dpkgStatus) + "/", fault.Unavailable, "The list of installed packages is damaged", "Replace /var/lib/dpkg/status by the last good copy in /var/backups/dpkg.status.*."},
		{"Unmet dependencies", fault.Unavailable, "Installed packages lack what they depend on, so apt plans no update", "Run: sudo apt-get --fix-broken install"},
		{"get lock", fault.Unavailable, "Another program is using the package manager", "Wait until it is done, then ask again."},
		{"could not be parsed or opened", fault.Unavailable, "The package lists are damaged", lists},
		{"package cache file is corrupted", fault.Unavailable, "The package lists are damaged", lists},
		{"Unable to parse package file", fault.Unavailable, "The package lists are damaged", lists},
	}
}
