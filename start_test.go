// SPDX-License-Identifier: Apache-2.0

package sentinel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestNothingIsCompiledAtTheStart holds that no regular expression of sentinel is compiled before it is
// needed: every answer would wait for all of them.
func TestNothingIsCompiledAtTheStart(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "internal/guard/") || strings.HasPrefix(file, "internal/testenv/") || strings.HasPrefix(file, "test/") {
			continue // the guard starts once for many calls
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if variables, ok := d.(*ast.GenDecl); ok {
				ast.Inspect(variables, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "MustCompile" {
						t.Errorf("%s: use lazyregexp", files.Position(s.Pos()))
					}
					_, later := n.(*ast.FuncLit)
					return !later
				})
			}
		}
	}
}
