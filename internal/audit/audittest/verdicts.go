// SPDX-License-Identifier: Apache-2.0

// Package audittest holds the tests that the checks of every platform must pass.
// Each platform runs them with its own checks and test machines.
package audittest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/audit"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Verdicts compares the finding of every check on each machine with
// testdata/verdicts/FAMILY.golden.
func Verdicts(t *testing.T, machines []string, checksOf func(machine string) []audit.Check) {
	t.Helper()
	tables := map[string]*bytes.Buffer{}
	for _, name := range machines {
		for _, c := range checksOf(name) {
			family, _, _ := strings.Cut(c.ID, ".")
			if tables[family] == nil {
				tables[family] = &bytes.Buffer{}
			}
			fmt.Fprintf(tables[family], "%s: %s: %s\n", c.ID, name, Verdict(c.Run(t.Context())))
		}
	}
	for family, table := range tables {
		lines := strings.SplitAfter(table.String(), "\n")
		slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(id(a), id(b)) })
		golden(t, filepath.Join("testdata", "verdicts", family+".golden"), strings.Join(lines, ""))
	}
	kept, err := filepath.Glob(filepath.Join("testdata", "verdicts", "*.golden"))
	if err != nil || len(kept) != len(tables) {
		t.Errorf("%d tables for %d families, %v", len(kept), len(tables), err)
	}
}

func id(line string) string { before, _, _ := strings.Cut(line, ":"); return before }

// Verdict formats a finding as one line. The user who runs the tests, and owns
// their files, is shown as root.
func Verdict(f audit.Finding) string {
	if f.Status == "" {
		kind := "does not apply"
		if f.Applies {
			kind = "not seen"
		}
		return kind + " (" + f.Reason + ")"
	}
	text := string(f.Status) + " " + f.Value
	if len(f.Evidence) > 0 {
		text += " [" + strings.Join(f.Evidence, "; ") + "]"
	}
	return strings.ReplaceAll(text, fmt.Sprintf("of user %d", os.Geteuid()), "of user 0")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // fixtures are for everybody to read
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // fixtures are for everybody to read
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; if the change is meant, run: go test -update\n got %s\nwant %s", file, got, want)
	}
}

// BothWays checks that each check passes on one of the machines and warns or fails
// on another: a check that always gives the same verdict is useless. It returns the
// number of checks.
func BothWays(t *testing.T, machines []string, checksOf func(machine string) []audit.Check) int {
	t.Helper()
	passed, other := map[string]bool{}, map[string]bool{}
	for _, name := range machines {
		for _, c := range checksOf(name) {
			f := c.Run(t.Context())
			bad := f.Status == audit.Warn || f.Status == audit.Fail
			passed[c.ID] = passed[c.ID] || f.Status == audit.Pass
			other[c.ID] = other[c.ID] || bad
			if f.Status != "" && f.Value == "" || f.Status == "" && f.Reason == "" {
				t.Errorf("%s on %s: says nothing: %+v", c.ID, name, f)
			}
			if bad && (f.Fix == "" || len(f.Evidence) == 0) {
				t.Errorf("%s on %s: no fix or no evidence: %+v", c.ID, name, f)
			}
		}
	}
	for id := range passed {
		if !passed[id] || !other[id] {
			t.Errorf("%s: passes somewhere: %v, warns or fails somewhere: %v", id, passed[id], other[id])
		}
	}
	return len(passed)
}
