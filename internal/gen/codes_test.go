// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// The error codes in the table are compared with the source: each code that a
// package of an operation names must be one of that operation's codes, or a code of
// all operations, and vice versa. The packages of an operation are those that its
// file in cli imports, and their counterparts in platform.
func TestTheTableNamesTheCodesOfTheSource(t *testing.T) {
	var shared []string
	for _, g := range sharedCodes() {
		shared = append(shared, texts(g.codes)...)
	}
	known := slices.Clone(shared)
	users := map[string][]string{} // codes of the operations that use a package
	for _, o := range ops.Actions() {
		known = append(known, o.Codes...)
		packages := packagesOf(t, o)
		for _, p := range packages {
			users[p] = append(users[p], o.Codes...)
		}
		named := namedIn(t, append(dirsOf(packages), "internal/cli", "internal/target"))
		for _, code := range o.Codes {
			if !slices.Contains(named, code) {
				t.Errorf("%s is a code of %s, and %q do not name it", code, o.Name, packages)
			}
		}
	}
	delete(users, "doctor") // it reports the failures of others, and its own findings have no codes
	for p, codes := range users {
		for _, code := range namedIn(t, dirsOf([]string{p})) {
			if !slices.Contains(shared, code) && !slices.Contains(codes, code) {
				t.Errorf("internal/%s names %s, and no operation that uses it has the code", p, code)
			}
		}
	}
	for _, i := range fault.All() {
		if !slices.Contains(known, string(i.Code)) {
			t.Errorf("no operation has %s", i.Code)
		}
	}
}

// packagesOf lists the internal packages that an operation's own file in cli
// imports.
func packagesOf(t *testing.T, o ops.Operation) []string {
	t.Helper()
	var list []string
	for _, kind := range []string{"run", "plan"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "cli", kind+"_"+o.Name+".go"), nil, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, i := range file.Imports {
			if name, own := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "sentinel/internal/"); own && name != "fault" {
				list = append(list, name)
			}
		}
	}
	if len(list) == 0 {
		t.Errorf("%s has neither run_%s.go nor plan_%s.go", o.Name, o.Name, o.Name)
	}
	return list
}

// dirsOf returns the directories of internal packages and of their counterparts in
// platform.
func dirsOf(packages []string) []string {
	var dirs []string
	for _, p := range packages {
		for _, dir := range []string{"internal/" + p, "platform/linux/" + p, "platform/darwin/" + p} {
			if _, err := os.Stat(filepath.Join(root, dir)); err == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// namedIn returns the codes that the source below the directories names.
func namedIn(t *testing.T, dirs []string) []string {
	t.Helper()
	codes := constants(t)
	found := map[string]bool{}
	for _, directory := range dirs {
		walkGo(t, filepath.Join(root, directory), func(file *ast.File) {
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "fault" && codes[s.Sel.Name] != "" {
					found[codes[s.Sel.Name]] = true
				}
				return true
			})
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// constants maps the names of the constants to the codes.
func constants(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	walkGo(t, filepath.Join(root, "internal", "fault"), func(file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if text, ok := v.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
					names[v.Names[0].Name] = strings.Trim(text.Value, `"`)
				}
			}
			return true
		})
	})
	return names
}

// walkGo calls visit for each file of a directory that is not a test.
func walkGo(t *testing.T, directory string, visit func(*ast.File)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(directory), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(directory, path), nil, 0)
		if err == nil {
			visit(file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
