// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/clients"
	"sentinel/internal/humanize"
	"sentinel/internal/installed"
)

func privacyChecks() []check {
	return []check{
		{About: audit.About{
			ID: "privacy.full_disk", Name: "Full-disk access", Severity: audit.Medium, Weight: 3,
			Reference:   "Apple Platform Deployment: privacy preferences",
			Description: "Such a program, and any that it starts, can read the mail, messages and backups of everybody.",
			Formula:     "PASS when no programs but Apple's and sentinel-mcp have full-disk access. WARN otherwise, with the names. Skipped when sentinel itself has no full-disk access, which root does not imply.",
		}, Run: fullDisk},
	}
}

// grants is the database of privacy permissions for the whole Mac. Its schema is
// not documented: a query that fails is not a verdict.
const (
	grants      = "/Library/Application Support/com.apple.TCC/TCC.db"
	grantsQuery = "SELECT client FROM access WHERE service='kTCCServiceSystemPolicyAllFiles' AND auth_value=2 ORDER BY client LIMIT 500"
)

func fullDisk(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/sqlite3", "-readonly", "-batch", "-json", grants, grantsQuery)
	if err != nil {
		return audit.Unread("sqlite3", err)
	}
	said := string(r.Stderr)
	if strings.Contains(said, "authorization denied") || strings.Contains(said, "unable to open database") || strings.Contains(said, "not authorized") {
		return audit.Unseen("the privacy permissions: needs full-disk access")
	}
	programs, err := parseGrants(r.Stdout)
	if err != nil || r.Exit != 0 {
		return audit.Unread("sqlite3", errUnknownOutput)
	}
	programs = slices.DeleteFunc(programs, m.ownServer)
	if len(programs) > 0 {
		return audit.Warned(humanize.Count(len(programs), "program has", "programs have")+" full-disk access", "Remove it from those that do not need it: System Settings, Privacy & Security, Full Disk Access.", audit.Prefixed("TCC.db: ", programs)...)
	}
	return audit.Passed("No program but Apple's")
}

// ownServer says that a program is sentinel-mcp where root has installed it, which
// gets the right on the advice of --doctor, and that nobody but root can change it.
func (m *machine) ownServer(program string) bool {
	if !slices.Contains(installed.Paths(clients.Program), program) {
		return false
	}
	_, alone := m.tree().ChangedBy(program, m.Owner)
	return alone
}

// parseGrants parses the rows printed by sqlite3 -json, which prints nothing if
// there are none. It leaves out clients of Apple: bundles by name, programs by path.
func parseGrants(stdout []byte) ([]string, error) {
	if strings.TrimSpace(string(stdout)) == "" {
		return nil, nil
	}
	var rows []struct {
		Client string `json:"client"`
	}
	if err := json.Unmarshal(stdout, &rows); err != nil {
		return nil, err
	}
	var list []string
	for _, row := range rows {
		if row.Client == "" {
			return nil, errUnknownOutput
		}
		if !strings.HasPrefix(row.Client, "com.apple.") && !onSystemVolume(row.Client) && len(list) < maxListed {
			list = append(list, row.Client)
		}
	}
	return list, nil
}
