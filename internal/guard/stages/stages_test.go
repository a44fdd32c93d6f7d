// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// Adding a stage is a file with a function that returns it, and a line in All: each such function
// is listed, and the envelope, by which all others read, is the first.
func TestEveryStageIsListed(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // the tags of files do not matter here
	if err != nil {
		t.Fatal(err)
	}
	var made, listed []string
	for _, file := range packages["stages"].Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case f.Name.Name == "All":
				ast.Inspect(f.Body, func(n ast.Node) bool {
					if c, ok := n.(*ast.CallExpr); ok {
						if name, ok := c.Fun.(*ast.Ident); ok {
							listed = append(listed, name.Name)
						}
					}
					return true
				})
			case returnsStage(f):
				made = append(made, f.Name.Name)
			}
		}
	}
	for _, name := range made {
		if !slices.Contains(listed, name) {
			t.Errorf("the stage %s is not in All", name)
		}
	}
	if len(made) == 0 || len(listed) == 0 || listed[0] != "envelope" {
		t.Errorf("made %v, listed %v", made, listed)
	}
}

func returnsStage(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	s, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Stage"
}
