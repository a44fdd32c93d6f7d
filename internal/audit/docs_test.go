// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit"
	darwinaudit "sentinel/platform/darwin/audit"
	linuxaudit "sentinel/platform/linux/audit"
)

var update = flag.Bool("update", false, "rewrite docs/audit.md")

// docs/audit.md is the page that the checks of Linux keep, which their comparison
// with Lynis reads as well, with the lists of checks in it.
func TestDocumentationListsEveryCheck(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "platform", "linux", "audit", "testdata", "docs.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for place, source := range map[string]audit.Source{
		"{{linux}}\n":  linuxaudit.New(linuxaudit.Parts{Root: t.TempDir()}),
		"{{darwin}}\n": darwinaudit.New(darwinaudit.Parts{Root: t.TempDir()}),
	} {
		before, after, found := strings.Cut(page, place)
		if !found {
			t.Fatalf("the page has no place %q", place)
		}
		page = before + listing(source.Checks()) + after
	}
	file := filepath.Join("..", "..", "docs", "audit.md")
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != page {
		t.Errorf("%s is not what the lists of checks say; run: go test ./internal/audit -update", file)
	}
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
