// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/audit"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Every check has a verdict, or the reason why there is none, on every machine:
// testdata/verdicts/FAMILY.golden.
func TestEachMacGetsTheVerdictsItDeserves(t *testing.T) {
	tables := map[string]*bytes.Buffer{}
	for _, name := range machines {
		for _, c := range New(parts(t, name)).Checks() {
			family, _, _ := strings.Cut(c.ID, ".")
			if tables[family] == nil {
				tables[family] = &bytes.Buffer{}
			}
			fmt.Fprintf(tables[family], "%s: %s: %s\n", c.ID, name, verdict(c.Run(t.Context())))
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

func verdict(f audit.Finding) string {
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
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
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

// A check that always says the same checks nothing.
func TestEachCheckPassesHereAndNotThere(t *testing.T) {
	passed, other := map[string]bool{}, map[string]bool{}
	for _, name := range machines {
		for _, c := range New(parts(t, name)).Checks() {
			f := c.Run(t.Context())
			passed[c.ID] = passed[c.ID] || f.Status == audit.Pass
			other[c.ID] = other[c.ID] || f.Status == audit.Warn || f.Status == audit.Fail
			if f.Status != "" && f.Value == "" || f.Status == "" && f.Reason == "" {
				t.Errorf("%s on %s: says nothing: %+v", c.ID, name, f)
			}
			if (f.Status == audit.Warn || f.Status == audit.Fail) && (f.Fix == "" || len(f.Evidence) == 0) {
				t.Errorf("%s on %s: no fix or no evidence: %+v", c.ID, name, f)
			}
		}
	}
	for id := range passed {
		if !passed[id] || !other[id] {
			t.Errorf("%s: passes somewhere: %v, warns or fails somewhere: %v", id, passed[id], other[id])
		}
	}
	if len(passed) < 25 {
		t.Errorf("%d checks", len(passed))
	}
}

// What is kept well is seen to be, and what is neglected too.
func TestMacsAreToldApart(t *testing.T) {
	for name, want := range map[string]audit.Overall{"m4-26": audit.OverallPass, "m4-26-user": audit.OverallPass, "intel-12": audit.OverallFail} {
		r, err := audit.Run(t.Context(), New(parts(t, name)), audit.Options{})
		if err != nil || r.Overall != want {
			t.Errorf("%s: %s, %v", name, r.Overall, err)
		}
		if name == "intel-12" && r.Score > 25 || name != "intel-12" && r.Score != 100 {
			t.Errorf("%s: score %d", name, r.Score)
		}
		t.Logf("%s: %s, score %d, coverage %.2f, %d of %d", name, r.Overall, r.Score, r.Coverage, r.Evaluated, r.Applicable)
	}
}

func TestEachFamilyIsInTheList(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, listed := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || strings.HasSuffix(file, "_test.go"):
			case f.Name.Name == "families":
				ast.Inspect(f.Body, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						listed[name.Name] = true
					}
					return true
				})
			case returnsChecks(f):
				declared[f.Name.Name] = true
			}
		}
	}
	for name := range declared {
		if !listed[name] {
			t.Errorf("%s is not in the list of families", name)
		}
	}
	if len(declared) < len(families()) {
		t.Errorf("%d functions with checks for %d families: %v", len(declared), len(families()), slices.Sorted(maps.Keys(declared)))
	}
}

func returnsChecks(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	list, ok := f.Type.Results.List[0].Type.(*ast.ArrayType)
	if !ok {
		return false
	}
	element, ok := list.Elt.(*ast.Ident)
	return ok && element.Name == "check"
}

func TestEachCheckIsDescribedWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range New(Parts{Root: t.TempDir()}).Checks() {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		family, name, dotted := strings.Cut(c.ID, ".")
		if !dotted || family == "" || name == "" || strings.ContainsFunc(c.ID, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_.", r) }) {
			t.Errorf("%q is no id", c.ID)
		}
		if c.Name == "" || c.Reference == "" || !strings.HasSuffix(c.Description, ".") || !strings.HasSuffix(c.Formula, ".") || !strings.Contains(c.Formula, "PASS") {
			t.Errorf("%s is not described: %+v", c.ID, c.About)
		}
		if c.Weight < 1 || c.Weight > audit.MaxWeight || !slices.Contains([]audit.Severity{audit.High, audit.Medium, audit.Low}, c.Severity) {
			t.Errorf("%s: weight %d, severity %q", c.ID, c.Weight, c.Severity)
		}
		if len(c.Description) > 160 || len(c.Name) > 50 {
			t.Errorf("%s: a description of %d or a name of %d characters is too long", c.ID, len(c.Description), len(c.Name))
		}
	}
}
