// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/updates"
)

// apk is the package manager of Alpine Linux.
type apk struct{}

func (apk) name() string { return "apk" }

func (apk) program(m machine) string { return m.firstOf("/sbin/apk", "/usr/bin/apk") }

func (a apk) present(m machine) bool {
	return a.program(m) != "" && (m.exists("lib/apk/db/installed") || m.exists("usr/lib/apk/db/installed"))
}

func (apk) lists(m machine) []string {
	return m.glob("var/cache/apk/APKINDEX.*", "etc/apk/cache/APKINDEX.*", "var/lib/apk/APKINDEX.*")
}

// pending lists the packages that can be upgraded according to the last fetched indexes,
// apk-list(8).
func (a apk) pending(ctx context.Context, m machine) (updates.Pending, error) {
	fetched := a.lists(m)
	if len(fetched) == 0 {
		return updates.Pending{Unknown: errNeverFetched("apk")}, nil
	}
	r, err := m.runMain(ctx, a.program(m), "--no-network", "list", "--upgradable")
	if err != nil {
		return updates.Pending{}, err
	}
	p := updates.Pending{Updates: parseAPK(r.Stdout)}
	p.Refreshed, _ = newest(fetched...)
	stderr := string(r.Stderr)
	if r.Exit != 0 || len(p.Updates) == 0 && strings.Contains(stderr, "ERROR: ") {
		return updates.Pending{}, diagnose("apk", stderr, apkErrors())
	}
	if trouble := errorLines(stderr); trouble != "" {
		p.Gaps.Note("info.updates", "apk could not read everything: "+trouble)
	}
	return p, nil
}

// parseAPK reads "name-1.1-r0 arch {origin} (licence) [upgradable from:
// name-1.0-r0]".
func parseAPK(out []byte) []updates.Package {
	list := []updates.Package{}
	for line := range bytes.Lines(out) {
		head, from, ok := strings.Cut(strings.TrimSpace(string(line)), " [upgradable from: ")
		if !ok {
			continue
		}
		full, rest, _ := strings.Cut(head, " ")
		name, candidate := splitAPK(full)
		_, current := splitAPK(strings.TrimSuffix(from, "]"))
		if name == "" || candidate == "" {
			continue
		}
		list = append(list, updates.Package{Name: name, Current: current, Candidate: candidate, Origin: braced(rest)})
	}
	return list
}

// splitAPK splits "name-1.2.3-r4". The name may contain hyphens, the version and the revision do
// not.
func splitAPK(s string) (name, version string) {
	revision := strings.LastIndexByte(s, '-')
	if revision < 0 {
		return s, ""
	}
	at := strings.LastIndexByte(s[:revision], '-')
	if at < 0 {
		return s, ""
	}
	return s[:at], s[at+1:]
}

func braced(s string) string {
	_, after, _ := strings.Cut(s, "{")
	inside, _, ok := strings.Cut(after, "}")
	if !ok {
		return ""
	}
	return inside
}

func apkErrors() []knownError {
	return []knownError{
		{"Unable to lock database", fault.Unavailable, "Another program is using apk", "Wait until it is done, then ask again."},
		{"ermission denied", fault.PermissionDenied, "apk may not read its data without root", "Run: sudo sentinel --check-updates"},
		{"installed database", fault.Unavailable, "The list of installed packages is damaged", "Restore /lib/apk/db/installed from a backup, then run: sudo apk fix"},
		{"APKINDEX", fault.Unavailable, "The package lists are damaged", "Fetch them anew with: sudo apk update"},
	}
}
