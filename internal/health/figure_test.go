// SPDX-License-Identifier: Apache-2.0

package health

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// A new figure is one file and one line in All; this fails when the line is
// missing.
func TestEveryFigureOfAFileIsListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				if kind, ok := literal.Type.(*ast.Ident); ok && kind.Name == "Figure" {
					found++
				}
			}
			return true
		})
	}
	if found != len(All()) || found < 20 {
		t.Errorf("%d figures are declared, %d are in All", found, len(All()))
	}
}

func TestEveryFigureIsWhole(t *testing.T) {
	keys, metrics := map[string]bool{}, map[string]bool{}
	for _, f := range All() {
		if f.Key == "" && (f.Default != Threshold{} || f.Member != NoMember) || f.Key != "" && (f.Help == "" || keys[f.Key]) {
			t.Errorf("%q has no key, no help, or the key of another", f.Key)
		}
		if f.Metric.Name != "" && metrics[f.Metric.Name] {
			t.Errorf("%s is the metric of two figures", f.Metric.Name)
		}
		if f.Default.Level != (Level{}) && (f.Default.Warning > f.Default.Critical || f.Default.Critical > f.Max) {
			t.Errorf("%s: the default %v is out of its own bounds", f.Key, f.Default)
		}
		if (f.Title == "") != (f.Text == nil) || f.Code != "" && f.Message == "" {
			t.Errorf("%s has a title without a text, or a code without a message", f.Key)
		}
		keys[f.Key], metrics[f.Metric.Name] = true, true
	}
}
