// SPDX-License-Identifier: Apache-2.0

package sentinel_test

import (
	"os"
	"regexp"
	"runtime"
	"strings"
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
	for target := range strings.FieldsSeq(string(line[1])) {
		system, architecture, _ := strings.Cut(target, "/")
		if system == runtime.GOOS && architecture == runtime.GOARCH {
			continue // the tests are compiled
		}
		t.Run(target, func(t *testing.T) {
			checkTypes(t, packages.Config{
				Tests:      architecture != "arm", // they have numbers that take an int of 64 bits
				BuildFlags: []string{"-tags=nethttpomithttp2"},
				Env:        []string{"GOOS=" + system, "GOARCH=" + architecture},
			})
		})
	}
	t.Run("what only soak and bench run", func(t *testing.T) {
		checkTypes(t, packages.Config{Tests: true, BuildFlags: []string{"-tags=soak,bench"}})
	})
}

func checkTypes(t *testing.T, of packages.Config) {
	t.Helper()
	of.Mode, of.Env = packages.LoadAllSyntax, append(append(os.Environ(), "CGO_ENABLED=0"), of.Env...)
	found, err := packages.Load(&of, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 100 {
		t.Errorf("%d packages", len(found))
	}
	packages.Visit(found, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Error(e)
		}
	})
}
