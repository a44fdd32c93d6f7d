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
	"sentinel/internal/humanize"
	"sentinel/internal/progress"
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

// maxAsked bounds how many packages are queried with apt-cache.
const maxAsked = 1000

// apt is the package manager of Debian and Ubuntu.
type apt struct{}

func (apt) name() string { return "apt" }

func (apt) present(m machine) bool {
	info, err := os.Stat(m.path(dpkgStatus))
	return err == nil && info.Size() > 0 && m.exists("usr/bin/apt-get")
}

// pending simulates an update of everything, apt-get(8), which needs neither root nor a lock nor
// the network. -V adds the versions of packages that are kept back.
func (a apt) pending(ctx context.Context, m machine) (updates.Pending, error) {
	r, err := m.runMain(ctx, "/usr/bin/apt-get", "-s", "-q=1", "-V", "-o", "Debug::NoLocking=1", "dist-upgrade")
	if err != nil {
		return updates.Pending{}, err
	}
	if r.Exit != 0 {
		return updates.Pending{}, diagnose("apt", string(r.Stderr), aptErrors())
	}
	plan := parseAptPlan(r.Stdout)
	if len(plan.updates) == 0 && !anyInstalled(m) {
		return updates.Pending{}, fault.New(fault.Unavailable, "The list of installed packages, /var/lib/dpkg/status, names none: it is damaged.").
			WithFix("Restore /var/lib/dpkg/status-old, or a copy from /var/backups, then run: sudo dpkg --audit")
	}
	p := updates.Pending{
		Updates: plan.updates, Security: securityNames(plan.updates), Extra: &plan.extra,
	}
	p.Busy, err = m.locked("var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock", aptLists+"/lock")
	p.Gaps.Add(updates.BusyField, err)
	switch lists := a.lists(m); {
	case lists != nil:
		p.Refreshed, _ = newest(lists...)
		a.security(m, &p)
	case len(plan.updates) == 0:
		return updates.Pending{Busy: p.Busy, Gaps: p.Gaps, Unknown: errNeverFetched("apt")}, nil
	}
	a.withheld(ctx, m, plan, &p)
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
func (a apt) withheld(ctx context.Context, m machine, plan aptPlan, p *updates.Pending) {
	p.Withheld = append(append([]updates.Withheld{}, plan.phased...), plan.kept...)
	if len(p.Withheld) == 0 {
		return
	}
	progress.Say(ctx, 40, "asking why "+humanize.Count(len(p.Withheld), "package is", "packages are")+" kept back")
	if len(plan.kept) > 0 {
		held, err := heldPackages(m)
		p.Gaps.Add("held", err)
		for i := range p.Withheld {
			if w := &p.Withheld[i]; w.Reason == updates.KeptBack && held[w.Name] {
				w.Reason = updates.Held
			}
		}
	}
	var names []string
	for _, w := range p.Withheld {
		if isPackageName(w.Name) && len(names) < maxAsked {
			names = append(names, w.Name)
		}
	}
	if len(names) > 0 {
		// An apt that lists phased updates separately has left none among the others.
		a.policies(ctx, m, names, len(plan.phased) == 0, p)
	}
}

// policies queries which of the packages that are withheld are phased, before version 2.5.4 of apt the
// only way to know, and for which of them a security archive has a version newer than the installed
// one: the candidate itself need not come from there.
func (apt) policies(ctx context.Context, m machine, names []string, phased bool, p *updates.Pending) {
	r, err := m.runExtra(ctx, "/usr/bin/apt-cache", append([]string{"policy", "--"}, names...)...)
	if err != nil || r.Exit != 0 {
		if phased {
			p.Gaps.Note("phased", "apt-cache did not say which packages are phased; they count as kept back")
		}
		return
	}
	policies := parseAptPolicy(r.Stdout)
	var archives map[string]bool
	if p.Security != nil {
		if r, err = m.runExtra(ctx, "/usr/bin/apt-cache", "policy"); err == nil && r.Exit == 0 {
			archives = parseAptArchives(r.Stdout)
		}
	}
	for i := range p.Withheld {
		w := &p.Withheld[i]
		policy, told := policies[w.Name]
		if phased && w.Reason == updates.KeptBack && told && policy.phased && policy.candidate == w.Candidate {
			w.Reason = updates.Phased
		}
		if told && len(archives) > 0 {
			w.Security = new(slices.ContainsFunc(policy.newer, func(archive string) bool { return archives[archive] }))
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

// An aptPlan is what apt-get -s -V would do.
type aptPlan struct {
	updates []updates.Package
	extra   updates.Extra
	kept    []updates.Withheld // the reason is not known yet
	phased  []updates.Withheld // if apt lists them separately
}

// parseAptPlan reads the output of a simulated dist-upgrade. It skips lines that are neither a step
// nor in a relevant list.
func parseAptPlan(out []byte) aptPlan {
	plan := aptPlan{updates: []updates.Package{}}
	heading := ""
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		if strings.HasPrefix(line, " ") {
			plan.keep(heading, line)
			continue
		}
		heading = line
		plan.step(line)
	}
	return plan
}

// keep reads a row of a list: " name (1.0 => 2.0)", or several names if apt is configured not to
// show versions.
func (p *aptPlan) keep(heading, line string) {
	to, reason := &p.kept, updates.KeptBack
	switch heading {
	case "The following packages have been kept back:":
	case "The following upgrades have been deferred due to phasing:":
		to, reason = &p.phased, updates.Phased
	default:
		return
	}
	name, versions, ok := strings.Cut(strings.TrimSpace(line), " (")
	if current, candidate, two := strings.Cut(strings.TrimSuffix(versions, ")"), " => "); ok && two {
		*to = append(*to, updates.Withheld{Name: name, Current: current, Candidate: candidate, Reason: reason})
		return
	}
	for name := range strings.FieldsSeq(line) {
		*to = append(*to, updates.Withheld{Name: name, Reason: reason})
	}
}

func (p *aptPlan) step(line string) {
	step, rest, _ := strings.Cut(line, " ")
	switch step {
	case "Remv":
		p.extra.Removes++
	case "Inst":
		if one, ok := parseInst(rest); ok && one.Current != "" {
			p.updates = append(p.updates, one)
		} else if ok {
			p.extra.Installs++
		}
	}
}

// parseInst reads what follows "Inst": "name [current] (candidate origin, origin [arch])" followed
// by packages that are broken in between, in brackets. A new package has no current version.
func parseInst(s string) (updates.Package, bool) {
	name, rest, _ := strings.Cut(s, " ")
	one := updates.Package{Name: name}
	if after, ok := strings.CutPrefix(rest, "["); ok {
		if one.Current, rest, ok = strings.Cut(after, "] "); !ok {
			return one, false
		}
	}
	end := strings.LastIndexByte(rest, ')')
	if !strings.HasPrefix(rest, "(") || end < 0 {
		return one, false
	}
	rest = rest[1:end]
	one.Candidate, rest, _ = strings.Cut(rest, " ")
	if at := strings.LastIndexByte(rest, '['); at >= 0 {
		rest = rest[:at]
	}
	one.Origin = strings.TrimSpace(rest)
	one.Security = new(fromSecurity(one.Origin))
	return one, name != "" && one.Candidate != ""
}

// fromSecurity reports whether one of the origins of a version, each "label:release/suite", is a
// security archive. Debian's has its own label; those of Ubuntu and others have suites that end in
// "-security".
func fromSecurity(origins string) bool {
	for origin := range strings.SplitSeq(origins, ", ") {
		label, suite, _ := strings.Cut(origin, ":")
		if at := strings.LastIndexByte(suite, '/'); at >= 0 {
			suite = suite[at+1:]
		}
		if label == "Debian-Security" || suite == "security" || strings.HasSuffix(suite, "-security") {
			return true
		}
	}
	return false
}

// An aptPolicy is what apt-cache policy says of a package.
type aptPolicy struct {
	candidate string
	phased    bool     // the candidate
	newer     []string // the archives of all versions above the installed one
}

// parseAptPolicy reads the output of apt-cache policy for some packages, by package. Versions are in
// descending order, the archives of each below it, further in:
//
//	name:
//	  Installed: 1.0
//	  Candidate: 1.5
//	  Version table:
//	     1.5 500 (phased 10%)
//	        500 https://deb.example.org stable/main amd64 Packages
//	 *** 1.0 100
//	        100 /var/lib/dpkg/status
func parseAptPolicy(out []byte) map[string]aptPolicy {
	policies := map[string]aptPolicy{}
	name, one, newer := "", aptPolicy{}, false
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		f := strings.Fields(line)
		archive, inside := strings.CutPrefix(line, "      ")
		switch {
		case !strings.HasPrefix(line, " "):
			name, one, newer = strings.TrimSuffix(line, ":"), aptPolicy{}, true
			continue
		case len(f) == 2 && f[0] == "Candidate:":
			one.candidate = f[1]
		case inside && newer:
			one.newer = append(one.newer, archiveName(archive))
		case strings.HasPrefix(line, " *** "):
			newer = false
		case len(f) >= 4 && f[0] == one.candidate && f[2] == "(phased":
			one.phased = true
		}
		policies[name] = one
	}
	return policies
}

// archiveName drops the priority from "500 https://deb.example.org stable/main amd64 Packages", which
// differs between packages that are pinned and their archive.
func archiveName(line string) string {
	_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
	return name
}

// parseAptArchives says of each archive in the output of apt-cache policy, without a package, whether
// it is one of security updates; of those that a release file describes:
//
//	Package files:
//	 500 https://deb.example.org stable-security/main amd64 Packages
//	     release v=12,o=Debian,a=stable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
//	     origin deb.example.org
func parseAptArchives(out []byte) map[string]bool {
	archives := map[string]bool{}
	name := ""
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		release, described := strings.CutPrefix(strings.TrimSpace(line), "release ")
		switch {
		case described && name != "":
			label, suite := "", ""
			for field := range strings.SplitSeq(release, ",") {
				switch key, value, _ := strings.Cut(field, "="); key {
				case "l":
					label = value
				case "a":
					suite = value
				}
			}
			archives[name] = fromSecurity(label + ":" + suite)
		case !strings.HasPrefix(line, "     "):
			name = archiveName(line)
		}
	}
	return archives
}

// isPackageName reports whether s is the name of a Debian package, deb-control(5), with or without
// its architecture. Anything else is never passed to a program.
func isPackageName(s string) bool {
	for i := range len(s) {
		c := s[i]
		inside := i > 0 && strings.IndexByte("+-.:", c) >= 0
		if !inside && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(s) > 1
}
