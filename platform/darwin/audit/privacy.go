// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"strings"

	"sentinel/internal/audit"
)

func privacyChecks() []check {
	return []check{
		{About: audit.About{
			ID: "privacy.full_disk", Name: "Full-disk access", Severity: audit.Medium, Weight: 3,
			Reference:   "Apple Platform Deployment: privacy preferences",
			Description: "Such a program reads the mail, messages and backups of everybody, and so does what it starts.",
			Formula:     "PASS when no grant of full-disk access is in force, or only for programs of Apple. WARN otherwise, with the names. Skipped without full-disk access of its own, which root does not have by itself.",
		}, Run: fullDisk},
	}
}

// grants is the database of the grants for the whole Mac. Its layout is not
// documented: a query that fails is no verdict.
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
		return audit.Unseen("the grants of privacy: needs full-disk access")
	}
	clients, err := parseGrants(r.Stdout)
	if err != nil || r.Exit != 0 {
		return audit.Unread("sqlite3", errUnknownOutput)
	}
	if len(clients) > 0 {
		return audit.Warned(audit.Count(len(clients), "program has", "programs have")+" it", "Take it from those that need not have it: System Settings, Privacy & Security, Full Disk Access.", audit.Prefixed("TCC.db: ", clients)...)
	}
	return audit.Passed("No program but Apple's")
}

// parseGrants reads the rows that sqlite3 -json prints, nothing at all for none,
// without the clients that are Apple's: bundles by their names, and programs of the sealed
// volume by their paths.
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
		if row.Client != "" && !strings.HasPrefix(row.Client, "com.apple.") && !onSystemVolume(row.Client) && len(list) < maxListed {
			list = append(list, row.Client)
		}
	}
	return list, nil
}
