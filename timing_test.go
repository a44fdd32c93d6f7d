// SPDX-License-Identifier: Apache-2.0

package sentinel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestNoTestMeasuresTime holds that how long something took on a machine that does other work
// fails no test: what is about time runs on the clock of testing/synctest, what must not hang
// has a testenv.HangGuard, what is waited for a testenv.WaitFor, and speed belongs to test/bench.
func TestNoTestMeasuresTime(t *testing.T) {
	for _, file := range goFiles(t) {
		if !strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "bench_test.go") || strings.HasSuffix(file, "fake_test.go") {
			continue // a fake runs on the clock of who calls it
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range comparedDurations(parsed) {
			t.Errorf("%s compares what a clock measured", files.Position(at))
		}
	}
}

// comparedDurations returns where a function of file compares what a real clock measured.
func comparedDurations(file *ast.File) (at []token.Pos) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		measured := measuredVariables(f.Body)
		outsideBubbles(f.Body, func(n ast.Node) {
			if isComparison(n) && mentions(n, measured) || isRace(n) {
				at = append(at, n.Pos())
			}
		})
	}
	return at
}

// measuredVariables returns the names of variables that are assigned a measured duration.
func measuredVariables(body *ast.BlockStmt) (names []string) {
	outsideBubbles(body, func(n ast.Node) {
		a, ok := n.(*ast.AssignStmt)
		if !ok || !slices.ContainsFunc(a.Rhs, func(e ast.Expr) bool { return mentions(e, nil) }) {
			return
		}
		for _, left := range a.Lhs {
			if name, ok := left.(*ast.Ident); ok {
				names = append(names, name.Name)
			}
		}
	})
	return names
}

// outsideBubbles calls visit for each node but those of arguments of synctest.Test.
func outsideBubbles(body ast.Node, visit func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isSelector(call.Fun, "synctest", "Test") {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

func isComparison(n ast.Node) bool {
	switch e := n.(type) {
	case *ast.BinaryExpr:
		return slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ, token.EQL, token.NEQ}, e.Op)
	case *ast.CallExpr:
		s, ok := e.Fun.(*ast.SelectorExpr)
		return ok && (s.Sel.Name == "Before" || s.Sel.Name == "After")
	}
	return false
}

// isRace reports whether n asks if the present is before or after a moment.
func isRace(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || !isComparison(n) {
		return false
	}
	now, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.CallExpr)
	return ok && isSelector(now.Fun, "time", "Now")
}

// mentions reports whether n reads the clock or one of the variables.
func mentions(n ast.Node, variables []string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.SelectorExpr:
			found = found || isSelector(e, "time", "Since") || isSelector(e, "time", "Until")
		case *ast.Ident:
			found = found || slices.Contains(variables, e.Name)
		}
		return !found
	})
	return found
}

func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
