// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// A Source reads the comments on the fields of result types from the source code,
// so that units and meanings are written only once. It reads the package of a type
// when it is first needed.
type Source struct {
	root     string                       // directory of the module
	packages map[string]map[string]string // by import path: comments by "Type.Field"
	errs     []error
}

// NewSource returns a Source for the module in the directory root.
func NewSource(root string) *Source {
	return &Source{root: root, packages: map[string]map[string]string{}}
}

// Err reports which fields have no comment, and which packages could not be read.
func (s *Source) Err() error { return errors.Join(s.errs...) }

// comment returns the comments on a field as one line.
func (s *Source) comment(owner reflect.Type, field string) string {
	path, name := owner.PkgPath(), owner.Name()+"."+field
	comments, read := s.packages[path]
	if !read {
		comments = s.read(path)
		s.packages[path] = comments
	}
	if comments[name] == "" {
		comments[name] = " " // report each field once
		s.errs = append(s.errs, fmt.Errorf("%s.%s has no comment that describes it", path, name))
	}
	return strings.TrimSpace(comments[name])
}

func (s *Source) read(path string) map[string]string {
	_, within, _ := strings.Cut(path, "/") // drops the name of the module
	files, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(within), "*.go"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no Go files below %s", path, s.root)
	}
	comments := map[string]string{}
	for _, file := range files {
		parsed, parseErr := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if parseErr != nil {
			err = parseErr
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				addComments(comments, spec)
			}
			return true
		})
	}
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return comments
}

func addComments(comments map[string]string, spec *ast.TypeSpec) {
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		for _, name := range f.Names {
			comments[spec.Name.Name+"."+name.Name] = text
		}
	}
}
