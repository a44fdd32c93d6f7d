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

// dnf is the package manager of Fedora, Red Hat and their kin, in both of its
// generations.
type dnf struct{}

func (dnf) program(m machine) string { return m.first("/usr/bin/dnf5", "/usr/bin/dnf") }

func (d dnf) present(m machine) bool {
	return d.program(m) != "" && (m.exists("var/lib/rpm") || m.exists("usr/lib/sysimage/rpm"))
}

// query returns the command line that lists updates from what was fetched. -C
// is for the metadata of root, which everyone may read.
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
	r, err := m.plan(ctx, program, args...)
	if err != nil {
		return updates.Pending{}, err
	}
	if r.Exit != 0 && r.Exit != dnfUpdates {
		return updates.Pending{}, dnfFault(r.Exit, string(r.Stderr))
	}
	fetched := m.glob("var/cache/dnf/*/repodata/repomd.xml", "var/cache/libdnf5/*/repodata/repomd.xml")
	p := updates.Pending{Manager: "dnf", Updates: parseDNF(r.Stdout), Refreshed: newest(fetched...)}
	if len(fetched) == 0 && len(p.Updates) == 0 {
		return updates.Pending{Manager: "dnf", Unknown: neverFetched("sudo dnf makecache")}, nil
	}
	if left := ignored(r.Stderr); left != "" {
		if len(p.Updates) == 0 {
			return updates.Pending{}, explain(dnfDamaged(), "dnf leaves out "+left+".")
		}
		p.Gaps.Note("info.updates", "dnf leaves out the repositories whose lists are damaged or were never fetched: "+left)
	}
	d.versions(ctx, m, &p)
	d.security(ctx, m, &p)
	p.Gaps.Note("withheld", "dnf does not say what it holds back")
	return p, ctx.Err()
}

func (dnf) versions(ctx context.Context, m machine, p *updates.Pending) {
	if len(p.Updates) == 0 {
		return
	}
	installed, err := m.installed(ctx)
	p.Gaps.Add("packages.current", err)
	fill(p.Updates, installed)
}

// security asks again for what closes holes. A repository without advisories,
// as that of CentOS Stream, says nothing about that: then nothing is known.
func (d dnf) security(ctx context.Context, m machine, p *updates.Pending) {
	if len(m.glob("var/cache/dnf/*/repodata/*updateinfo*", "var/cache/libdnf5/*/repodata/*updateinfo*")) == 0 {
		p.Gaps.Note("security_updates", "no repository of this machine publishes advisories")
		return
	}
	secure := map[string]bool{}
	if len(p.Updates) > 0 {
		program, args := d.query(m, "--security")
		r, err := m.aside(ctx, program, args...)
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
	p.Security = secureNames(p.Updates)
}

// parseDNF reads the output of check-update: "name.arch version-release
// repository" and, after a heading of its own, what would be replaced. A name that is too
// long for its column has a line of its own.
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

// ignored returns the repositories that dnf could not use.
func ignored(stderr []byte) string {
	for line := range bytes.Lines(stderr) {
		if names, ok := strings.CutPrefix(string(line), "Ignoring repositories: "); ok {
			return strings.TrimSpace(names)
		}
	}
	return ""
}

func dnfDamaged() complaint {
	return complaint{
		code: fault.Unavailable, means: "The package lists are damaged",
		fix: "Fetch them anew with: sudo dnf clean metadata && sudo dnf makecache",
	}
}

func dnfFault(exit int, text string) error {
	if exit == dnfLocked {
		return explain(complaint{
			code: fault.Unavailable, means: "Another program is using dnf", fix: "Wait until it is done, then ask again.",
		}, "")
	}
	damaged := dnfDamaged()
	damaged.words = "repomd"
	never := complaint{
		"Cache-only enabled but no cache", fault.Unavailable, "The package lists were never fetched, or not all of them", "Fetch them with: sudo dnf makecache",
	}
	return diagnose("dnf", text, []complaint{
		{"rpmdb open failed", fault.Unavailable, "The list of installed packages is damaged", "Mend it with: sudo rpm --rebuilddb"},
		{"ermission denied", fault.PermissionDenied, "dnf may not read its data without root", "Run: sudo sentinel --check-updates"},
		never, damaged,
	})
}
