// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/updates"
)

// pacman is the package manager of Arch Linux.
type pacman struct{}

func (pacman) name() string { return "pacman" }

func (pacman) present(m machine) bool {
	return m.exists("usr/bin/pacman") && m.exists("var/lib/pacman/local")
}

// lists are the databases, with the time at which the mirror changed them. Their directory changes
// also where a fetch fails.
func (pacman) lists(m machine) []string { return m.glob("var/lib/pacman/sync/*.db") }

// pending lists packages that are newer in the last synchronized databases, pacman(8) -Qu. Its exit
// status is 1 both when there are none and when it fails.
func (a pacman) pending(ctx context.Context, m machine) (updates.Pending, error) {
	fetched := a.lists(m)
	if len(fetched) == 0 {
		return updates.Pending{Unknown: errNeverFetched("pacman")}, nil
	}
	r, err := m.runMain(ctx, "/usr/bin/pacman", "-Qu", "--color", "never")
	if err != nil {
		return updates.Pending{}, err
	}
	stderr := string(r.Stderr)
	failed := strings.Contains(stderr, "error: ")
	p := updates.Pending{Busy: m.exists("var/lib/pacman/db.lck")}
	p.Refreshed, _ = newest(fetched...)
	p.Updates, p.Withheld = parsePacman(r.Stdout)
	if failed && len(p.Updates)+len(p.Withheld) == 0 {
		return updates.Pending{}, diagnose("pacman", stderr, pacmanErrors())
	}
	if failed {
		p.Gaps.Note("info.updates", "pacman could not read everything: "+errorLines(stderr))
	}
	if strings.Contains(stderr, "does not exist (use '-Sy'") {
		p.Gaps.Note("info.updates", "a database was never fetched; fetch it with: sudo pacman -Sy")
	}
	return p, nil
}

// parsePacman reads "name 1.0-1 -> 1.1-1", with "[ignored]" after packages that the configuration
// holds back.
func parsePacman(out []byte) ([]updates.Package, []updates.Withheld) {
	list, withheld := []updates.Package{}, []updates.Withheld{}
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		switch {
		case len(f) < 4 || f[2] != "->":
		case len(f) > 4 && strings.HasPrefix(f[4], "["):
			withheld = append(withheld, updates.Withheld{Name: f[0], Current: f[1], Candidate: f[3], Reason: updates.Held})
		default:
			list = append(list, updates.Package{Name: f[0], Current: f[1], Candidate: f[3]})
		}
	}
	return list, withheld
}

func pacmanErrors() []knownError {
	again := "Fetch them anew with: sudo pacman -Syy"
	return []knownError{
		{"ermission denied", fault.PermissionDenied, "pacman may not read its data without root", "Run: sudo sentinel --check-updates"},
		{"config file", fault.Unavailable, "pacman cannot read its configuration", "Correct /etc/pacman.conf."},
		{"could not open file /var/lib/pacman/sync/", fault.Unavailable, "The package lists are damaged", again},
		{"from db '", fault.Unavailable, "The package lists are damaged", again},
		{"is not valid", fault.Unavailable, "The package lists are damaged", again},
	}
}
