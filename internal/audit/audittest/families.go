// SPDX-License-Identifier: Apache-2.0

package audittest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/audit"
)

// Listed checks that the function families of the package in the working directory
// lists every function that returns a []check, and that these are as many as
// families says.
func Listed(t *testing.T, families int) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, listed := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		namesIn(parsed, declared, listed)
	}
	for name := range declared {
		if !listed[name] {
			t.Errorf("%s is not in the list of families", name)
		}
	}
	if len(declared) < families {
		t.Errorf("%d functions with checks for %d families: %v", len(declared), families, slices.Sorted(maps.Keys(declared)))
	}
}

// namesIn collects the functions of a file that return checks, and the names in the
// function families.
func namesIn(file *ast.File, declared, listed map[string]bool) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok:
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

// Described checks that each check has a unique ID and a complete description.
func Described(t *testing.T, checks []audit.Check) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range checks {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		family, name, dotted := strings.Cut(c.ID, ".")
		if !dotted || family == "" || name == "" || strings.ContainsFunc(c.ID, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_.", r) }) {
			t.Errorf("%q is not a valid id", c.ID)
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
