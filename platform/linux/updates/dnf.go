// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/updates"
)

// Exit statuses of dnf(8).
const (
	dnfUpdates = 100 // check-update: there are some
	dnfLocked  = 200 // with exit_on_lock
)

// dnf is the package manager of Fedora, Red Hat and their derivatives: dnf 4 and
// dnf5.
type dnf struct{}

func (dnf) name() string { return "dnf" }

func (dnf) program(m machine) string { return m.firstOf("/usr/bin/dnf5", "/usr/bin/dnf") }

func (d dnf) present(m machine) bool {
	return d.program(m) != "" && (m.exists("var/lib/rpm") || m.exists("usr/lib/sysimage/rpm"))
}

func (dnf) lists(m machine) []string {
	return m.glob("var/cache/dnf/*/repodata/repomd.xml", "var/cache/libdnf5/*/repodata/repomd.xml")
}

// query returns the command line that lists updates from the fetched metadata. -C uses the metadata
// of root, which everyone may read.
func (d dnf) query(m machine, more ...string) (program string, args []string) {
	program = d.program(m)
	args = append([]string{"-C"}, more...)
	if program == "/usr/bin/dnf" {
		args = append(args, "--setopt=exit_on_lock=True")
	}
	return program, append(args, "check-update")
}

func (d dnf) pending(ctx context.Context, m machine) (updates.Pending, error) {
	program, args := d.query(m)
	r, err := m.runMain(ctx, program, args...)
	if err != nil {
		return updates.Pending{}, err
	}
	if r.Exit != 0 && r.Exit != dnfUpdates {
		return updates.Pending{}, dnfFault(r.Exit, string(r.Stderr))
	}
	fetched := d.lists(m)
	p := updates.Pending{Updates: parseDNF(r.Stdout)}
	m.busy(&p)
	p.Refreshed, _ = newest(fetched...)
	if len(fetched) == 0 && len(p.Updates) == 0 {
		return updates.Pending{Busy: p.Busy, Gaps: p.Gaps, Unknown: errNeverFetched("dnf")}, nil
	}
	if left := ignoredRepositories(r.Stderr); left != "" {
		if len(p.Updates) == 0 {
			return updates.Pending{}, faultFor(dnfDamaged(), "dnf leaves out "+left+".")
		}
		p.Gaps.Note("info.updates", "dnf leaves out the repositories whose lists are damaged or were never fetched: "+left)
	}
	leftIn := d.withheld(ctx, m, &p)
	d.versions(ctx, m, &p)
	d.security(ctx, m, leftIn, &p)
	return p, nil
}

func (dnf) versions(ctx context.Context, m machine, p *updates.Pending) {
	if len(p.Updates)+len(p.Withheld) == 0 {
		return
	}
	installed, err := m.installed(ctx)
	p.Gaps.Add("packages.current", err)
	fillCurrent(p.Updates, installed)
	for i := range p.Withheld {
		p.Withheld[i].Current = installed[p.Withheld[i].Name]
	}
}

// security queries the security updates separately. Without advisories, as on CentOS Stream, they
// are unknown.
func (d dnf) security(ctx context.Context, m machine, leftIn []string, p *updates.Pending) {
	if len(m.glob("var/cache/dnf/*/repodata/*updateinfo*", "var/cache/libdnf5/*/repodata/*updateinfo*")) == 0 {
		p.Gaps.Note("security_updates", "no repository of this machine publishes advisories")
		return
	}
	secure := map[string]bool{}
	if len(p.Updates)+len(p.Withheld) > 0 {
		program, args := d.query(m, append(leftIn, "--security")...)
		r, err := m.runExtra(ctx, program, args...)
		if err == nil && r.Exit != 0 && r.Exit != dnfUpdates {
			err = dnfFault(r.Exit, string(r.Stderr))
		}
		if err != nil {
			p.Gaps.Add("security_updates", err)
			return
		}
		for _, one := range parseDNF(r.Stdout) {
			secure[one.Name] = true
		}
	}
	for i := range p.Updates {
		p.Updates[i].Security = new(secure[p.Updates[i].Name])
	}
	for i := range p.Withheld {
		if w := &p.Withheld[i]; w.Candidate != "" {
			w.Security = new(secure[w.Name])
		}
	}
	p.Security = securityNames(p.Updates)
}

// parseDNF reads the output of check-update: "name.arch version-release repository" and, after a
// heading, the packages that would be replaced. A name that is too long for its column is on a line
// of its own.
func parseDNF(out []byte) []updates.Package {
	list := []updates.Package{}
	name := ""
	for raw := range bytes.Lines(out) {
		line := string(raw)
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "Obsoleting" {
			break
		}
		if name != "" && len(f) == 2 && strings.HasPrefix(line, " ") {
			f = append([]string{name}, f...)
		}
		name = ""
		switch {
		case len(f) == 1 && strings.Contains(f[0], "."):
			name = f[0]
		case len(f) == 3 && strings.Contains(f[0], ".") && strings.Contains(f[1], "-") && !strings.HasSuffix(f[0], ":"):
			list = append(list, updates.Package{Name: f[0], Candidate: f[1], Origin: f[2]})
		}
	}
	return list
}

// ignoredRepositories names the repositories that dnf could not use, "" for none.
func ignoredRepositories(stderr []byte) string {
	for line := range bytes.Lines(stderr) {
		if names, ok := strings.CutPrefix(string(line), "Ignoring repositories: "); ok {
			return strings.TrimSpace(names)
		}
	}
	return ""
}

func dnfDamaged() knownError {
	return knownError{
		code: fault.Unavailable, message: "The package lists are damaged",
		fix: "Fetch them anew with: sudo dnf clean metadata && sudo dnf makecache",
	}
}

func dnfFault(exit int, text string) error {
	if exit == dnfLocked {
		return faultFor(knownError{
			code: fault.Unavailable, message: "Another program is using dnf", fix: "Wait until it is done, then ask again.",
		}, "")
	}
	damaged := dnfDamaged()
	damaged.match = "repomd"
	never := knownError{
		"Cache-only enabled but no cache", fault.Unavailable, "The package lists were never fetched, or not all of them", "Fetch them with: sudo dnf makecache",
	}
	return diagnose("dnf", text, []knownError{
		{"rpmdb open failed", fault.Unavailable, "The list of installed packages is damaged", "Repair it with: sudo rpm --rebuilddb"},
		{"ermission denied", fault.PermissionDenied, "dnf may not read its data without root", "Run: sudo sentinel --check-updates"},
		never, damaged,
	})
}
