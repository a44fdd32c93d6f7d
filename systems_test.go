// SPDX-License-Identifier: Apache-2.0

package sentinel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestTypesHoldOnEverySystem checks the types of all packages and their tests for every system of the
// Makefile, from source: that is a fraction of what compiling for another machine takes. The modules below test/ are for this one.
func TestTypesHoldOnEverySystem(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^SYSTEMS +:= (.+)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile names no SYSTEMS")
	}
	files := parsedFiles{positions: token.NewFileSet()}
	for target := range strings.FieldsSeq(string(line[1])) {
		system, architecture, _ := strings.Cut(target, "/")
		if system == runtime.GOOS && architecture == runtime.GOARCH {
			continue // the tests are compiled
		}
		t.Run(target, func(t *testing.T) {
			files.checkTypes(t, packages.Config{
				Tests:      architecture == "arm64", // what tests use differs by system; numbers of theirs take an int of 64 bits
				BuildFlags: []string{"-tags=nethttpomithttp2"},
				Env:        []string{"GOOS=" + system, "GOARCH=" + architecture},
			})
		})
	}
	t.Run("what only soak and bench run", func(t *testing.T) {
		files.checkTypes(t, packages.Config{Tests: true, BuildFlags: []string{"-tags=soak,bench"}})
	})
}

// parsedFiles are those that were parsed for one system: most are the same on all.
type parsedFiles struct {
	positions *token.FileSet
	byName    sync.Map // of *ast.File
}

func (p *parsedFiles) checkTypes(t *testing.T, of packages.Config) {
	t.Helper()
	of.Mode = packages.LoadImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedDeps | packages.NeedModule
	of.Env = append(append(os.Environ(), "CGO_ENABLED=0"), of.Env...)
	of.Fset, of.ParseFile = p.positions, p.parse
	found, err := packages.Load(&of, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 100 {
		t.Errorf("%d packages", len(found))
	}
	packages.Visit(found, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if e.Kind != packages.TypeError || p.Module != nil && p.Module.Main {
				t.Error(e)
			}
		}
	})
}

func (p *parsedFiles) parse(files *token.FileSet, name string, source []byte) (*ast.File, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if file, ok := p.byName.Load(name); ok {
		return file.(*ast.File), nil
	}
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	ours := strings.HasPrefix(name, here+string(filepath.Separator))
	if file != nil && !ours && file.Name.Name != "main" { // of tests, which is made when they are built
		withoutBodies(file)
	}
	if err == nil {
		p.byName.Store(name, file)
	}
	return file, err
}

// withoutBodies leaves of what others wrote what its callers see: their functions are most of the work.
func withoutBodies(file *ast.File) {
	for _, declared := range file.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok {
			function.Body = nil
		}
	}
}
