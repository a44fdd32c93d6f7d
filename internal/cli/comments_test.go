// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"sync"
)

// comments are what the source says of each field of a result type, by
// "import/path.Type.Field": units and meanings are written once, there.
var comments = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"answer", "assets", "cli", "fault", "health", "network", "processes"} {
		files, _ := filepath.Glob(filepath.Join("..", name, "*.go"))
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				panic(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					collect(all, "sentinel/internal/"+name+"."+spec.Name.Name+".", spec.Type)
				}
				return true
			})
		}
	}
	return all
})

func collect(to map[string]string, prefix string, t ast.Expr) {
	fields, ok := t.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		text := strings.TrimSpace(f.Doc.Text() + " " + f.Comment.Text())
		for _, name := range f.Names {
			to[prefix+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}
