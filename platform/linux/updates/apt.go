// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/updates"
	"sentinel/platform/unix/hostfile"
)

// Where apt and dpkg keep their data. Other places can be configured and are not
// looked at.
const (
	dpkgStatus = "var/lib/dpkg/status"
	aptLists   = "var/lib/apt/lists"
)

// maxStatus caps the status file of dpkg, in bytes. A full desktop has 6 MB.
const maxStatus = 64 << 20

// maxAsked bounds how many packages apt-cache is asked about.
const maxAsked = 200

// apt is the package manager of Debian and Ubuntu.
type apt struct{}

func (apt) present(m machine) bool {
	info, err := os.Stat(m.path(dpkgStatus))
	return err == nil && info.Size() > 0 && m.exists("usr/bin/apt-get")
}

// pending simulates an update of everything, apt-get(8), which needs neither
// root nor a lock nor the network. -V says which versions are kept back.
func (a apt) pending(ctx context.Context, m machine) (updates.Pending, error) {
	r, err := m.plan(ctx, "/usr/bin/apt-get", "-s", "-q=1", "-V", "-o", "Debug::NoLocking=1", "dist-upgrade")
	if err != nil {
		return updates.Pending{}, err
	}
	if r.Exit != 0 {
		return updates.Pending{}, diagnose("apt", string(r.Stderr), aptComplaints())
	}
	plan := parseAptPlan(r.Stdout)
	if len(plan.updates) == 0 && !anyInstalled(m) {
		return updates.Pending{}, fault.New(fault.Unavailable, "The list of installed packages, /var/lib/dpkg/status, names none: it is damaged.").
			WithFix("Put back /var/lib/dpkg/status-old, or a copy from /var/backups, then run: sudo dpkg --audit")
	}
	p := updates.Pending{
		Manager: "apt", Updates: plan.updates, Security: secureNames(plan.updates), Extra: &plan.extra,
		Busy: m.locked("var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock", aptLists+"/lock"),
	}
	if !a.fetched(m) {
		if len(plan.updates) == 0 {
			return updates.Pending{Manager: "apt", Busy: p.Busy, Unknown: neverFetched("sudo apt-get update")}, nil
		}
		return p, nil
	}
	p.Refreshed = newest(m.path(aptLists), m.path("var/lib/apt/periodic/update-success-stamp"), m.path("var/lib/apt/periodic/update-stamp"))
	a.security(m, &p)
	a.withheld(ctx, m, plan, &p)
	return p, ctx.Err()
}

// anyInstalled says whether dpkg knows of any package that is installed. apt takes
// a list that says nothing for a machine with nothing on it.
func anyInstalled(m machine) bool {
	raw, err := hostfile.Read(m.path(dpkgStatus), maxStatus)
	return err != nil || bytes.Contains(raw, []byte(" ok installed\n"))
}

// security takes back that nothing is for security where none of the lists is
// one of a security archive: then nothing is known.
func (apt) security(m machine, p *updates.Pending) {
	if len(p.Security) > 0 || len(m.glob(aptLists+"/*[Ss]ecurity*")) > 0 {
		return
	}
	p.Security = nil
	for i := range p.Updates {
		p.Updates[i].Security = nil
	}
	p.Gaps.Note("security_updates", "none of the package lists here is one of a security archive")
}

// fetched says whether there is any list of packages. The directory of the lists
// changes when one of them does, and the stamps are written by the hooks and timers of apt
// after a refresh that succeeded; a refresh by hand that found nothing new leaves no
// trace that a failed one would not leave as well.
func (apt) fetched(m machine) bool {
	return len(m.glob(aptLists+"/*_Packages", aptLists+"/*_Packages.*")) > 0
}

// secureNames names the updates that are known to be for security; never nil.
func secureNames(list []updates.Package) []string {
	names := []string{}
	for _, p := range list {
		if p.Security != nil && *p.Security {
			names = append(names, p.Name)
		}
	}
	return names
}

// withheld says of each package that waits why it does.
func (a apt) withheld(ctx context.Context, m machine, plan aptPlan, p *updates.Pending) {
	p.Withheld = append([]updates.Withheld{}, plan.phased...)
	if len(plan.kept) == 0 {
		return
	}
	held, err := heldPackages(m)
	if err != nil {
		p.Gaps.Add("held", err)
	}
	var open []string
	for i := range plan.kept {
		w := &plan.kept[i]
		if held[w.Name] {
			w.Reason = updates.Held
		} else if isPackageName(w.Name) && len(open) < maxAsked {
			open = append(open, w.Name)
		}
	}
	// An apt that lists phased updates apart has left none among the others.
	if len(open) > 0 && len(plan.phased) == 0 {
		a.phased(ctx, m, plan.kept, open, p)
	}
	p.Withheld = append(p.Withheld, plan.kept...)
}

// phased asks apt, before its version 2.5.4 the only way, which of the packages
// that it keeps back are phased.
func (apt) phased(ctx context.Context, m machine, kept []updates.Withheld, names []string, p *updates.Pending) {
	r, err := m.aside(ctx, "/usr/bin/apt-cache", append([]string{"policy", "--"}, names...)...)
	if err != nil || r.Exit != 0 {
		p.Gaps.Note("phased", "apt-cache did not say which packages are phased; they count as kept back")
		return
	}
	phased := parseAptPolicy(r.Stdout)
	for i := range kept {
		if kept[i].Reason == updates.KeptBack && phased[kept[i].Name] == kept[i].Candidate {
			kept[i].Reason = updates.Phased
		}
	}
}

// heldPackages returns the packages that are on hold in the status file of
// dpkg, each by its name and by that with its architecture.
func heldPackages(m machine) (map[string]bool, error) {
	raw, err := hostfile.Read(m.path(dpkgStatus), maxStatus)
	if err != nil {
		return nil, err
	}
	return parseHeld(raw), nil
}

// parseHeld reads dpkg's status file, deb822(5). The fields of a package are in
// the order Package, Status, Architecture, with others between.
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

func aptComplaints() []complaint {
	lists := "Delete the file that the message names, or all of /var/lib/apt/lists, then run: sudo apt-get update"
	return []complaint{
		{"Permission denied", fault.PermissionDenied, "apt may not read its data without root", "Run: sudo sentinel --check-updates"},
		{"list of sources could not be read", fault.Unavailable, "apt cannot read its list of sources", "Correct the file in /etc/apt that the message names, then run: sudo apt-get update"},
		{"/" + filepath.Dir(dpkgStatus) + "/", fault.Unavailable, "The list of installed packages is damaged", "Put the last good one of /var/backups/dpkg.status.* in the place of /var/lib/dpkg/status."},
		{"Unmet dependencies", fault.Unavailable, "Installed packages lack what they depend on, so apt plans no update", "Run: sudo apt-get --fix-broken install"},
		{"get lock", fault.Unavailable, "Another program is using the package manager", "Wait until it is done, then ask again."},
		{"could not be parsed or opened", fault.Unavailable, "The package lists are damaged", lists},
		{"package cache file is corrupted", fault.Unavailable, "The package lists are damaged", lists},
		{"Unable to parse package file", fault.Unavailable, "The package lists are damaged", lists},
	}
}
