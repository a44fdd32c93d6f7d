// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sentinel/internal/audit"
	darwinaudit "sentinel/platform/darwin/audit"
	linuxaudit "sentinel/platform/linux/audit"
)

// addAudit inserts the lists of checks into docs/audit.md. Its template is with the
// Linux checks, because a test compares it with Lynis.
func addAudit(files map[string][]byte) error {
	raw, err := os.ReadFile(filepath.Join(root, "platform", "linux", "audit", "testdata", "docs.md"))
	if err != nil {
		return err
	}
	page := string(raw)
	for place, source := range map[string]audit.Source{
		"{{linux}}\n":  linuxaudit.New(linuxaudit.Parts{Root: os.DevNull}),
		"{{darwin}}\n": darwinaudit.New(darwinaudit.Parts{Root: os.DevNull}),
	} {
		before, after, found := strings.Cut(page, place)
		if !found {
			return fmt.Errorf("the page of checks has no place %q", place)
		}
		page = before + listing(source.Checks()) + after
	}
	files["docs/audit.md"] = []byte(page)
	return nil
}

func listing(checks []audit.Check) string {
	var b strings.Builder
	weights, last := map[audit.Severity]int{}, ""
	for _, c := range checks {
		weights[c.Severity] += c.Weight
	}
	fmt.Fprintf(&b, "There are %d checks. Those of severity high weigh %d together, those of severity medium %d, and those of severity low %d.\n",
		len(checks), weights[audit.High], weights[audit.Medium], weights[audit.Low])
	for _, c := range checks {
		if family, _, _ := strings.Cut(c.ID, "."); family != last {
			fmt.Fprintf(&b, "\n### %s\n", family)
			last = family
		}
		fmt.Fprintf(&b, "\n#### `%s`: %s\n\nSeverity %s, weight %d. %s.\n\n%s\n\n%s\n", c.ID, c.Name, c.Severity, c.Weight, c.Reference, c.Description, c.Formula)
	}
	return b.String()
}
