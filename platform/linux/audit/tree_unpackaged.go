// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/packages"
	"sentinel/platform/unix/hostfile"
)

// packagedDirs are where packages alone put programs (FHS 3.0, 4.4 and 4.10).
var packagedDirs = []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin"}

// maxPrograms bounds the programs of one directory.
const maxPrograms = 20_000

// policyRC is where Debian wants administrators to say which services may start (invoke-rc.d(8)).
const policyRC = "/usr/sbin/policy-rc.d"

// A program is a file in one of packagedDirs.
type program struct {
	path     string
	leads    string    // of a link: where to
	open     bool      // others than root decide what is there
	modified time.Time // as its owner wants it to be
}

// unpackaged lists the programs that came with no package, those that were modified last first.
func unpackaged(ctx context.Context, m *machine) audit.Finding {
	list, err := m.systemPrograms(ctx)
	if err != nil {
		return audit.Unread("the programs", err)
	}
	paths := make([]string, 0, 2*len(list))
	for _, p := range list {
		if paths = append(paths, p.path); p.leads != "" {
			paths = append(paths, p.leads)
		}
	}
	known, err := packages.Finder{Root: m.Root, Runner: m.Runner}.Files(ctx, paths)
	if err != nil {
		return audit.Unread("which packages they belong to", err)
	}
	total := len(list)
	list = slices.DeleteFunc(list, func(p program) bool {
		f, end := known[p.path], known[p.leads]
		return f.Package != "" || f.Override || p.path == policyRC || !p.open && (end.Package != "" || end.Override)
	})
	if len(list) == 0 {
		return audit.Passed(humanize.Count(total, "program", "programs") + ", all of packages")
	}
	return audit.Warned(humanize.Count(len(list), "program came", "programs came")+" with no package",
		"Find out who put each one there. What you installed yourself belongs into /usr/local/bin: sudo mv FILE /usr/local/bin/", m.newestFirst(list)...)
}

// newestFirst says when each was modified. In a tree of files that is when it was copied.
func (m *machine) newestFirst(list []program) []string {
	if m.live() {
		slices.SortStableFunc(list, func(a, b program) int { return b.modified.Compare(a.modified) })
	}
	evidence := make([]string, len(list))
	for i, p := range list {
		evidence[i] = p.path
		if p.leads != "" {
			evidence[i] += " leads to " + p.leads
		}
		if m.live() {
			evidence[i] += ": modified " + p.modified.UTC().Format(time.DateOnly)
		}
	}
	return evidence
}

// systemPrograms lists the executable files of packagedDirs, each directory once, and the links there to
// others. What others than root can put at the end of a link is a program, whatever it is now.
func (m *machine) systemPrograms(ctx context.Context) ([]program, error) {
	var list []program
	for _, dir := range packagedDirs {
		err := m.eachIn(ctx, dir, func(file string, f hostfile.Meta) {
			p := program{path: file, modified: f.Modified}
			if f.Mode&fs.ModeSymlink != 0 {
				end, weak, err := m.follow(file, m.byRoot)
				if hostfile.Missing(err) || slices.Contains(packagedDirs, path.Dir(end)) {
					return
				}
				p.leads, p.open = end, weak != "" || err != nil
				f, _ = m.lstat(end) //nolint:errcheck // a link to nothing is no program
			}
			if p.open || f.Mode.IsRegular() && f.Mode&fs.FileMode(0o111) != 0 {
				list = append(list, p)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
