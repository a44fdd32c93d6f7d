// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit"
)

// docs/audit.md is the page of testdata/docs.md with the list of checks in it.
func TestDocumentationListsEveryCheck(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("testdata", "docs.md"))
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(page), "{{checks}}\n")
	if !found {
		t.Fatal("the page has no place for the checks")
	}
	checks := New(Parts{Root: t.TempDir()}).Checks()
	golden(t, filepath.Join("..", "..", "..", "docs", "audit.md"), before+listing(checks)+after)
}

func listing(checks []audit.Check) string {
	var b strings.Builder
	weights, last := map[audit.Severity]int{}, ""
	for _, c := range checks {
		weights[c.Severity] += c.Weight
	}
	fmt.Fprintf(&b, "There are %d checks on Linux. Those of severity high weigh %d together, those of severity medium %d, and those of severity low %d.\n",
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
