// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the code reads of the environment is what the manual names. Names stand in the code as
// literals of their own.
func TestVariablesAreThoseThatAreRead(t *testing.T) {
	literal := regexp.MustCompile(`"((?:MCP|XDG|CLAUDE|COPILOT|SUDO|SENTINEL)_[A-Z_]+)"`)
	listed := func(name string) bool {
		return slices.ContainsFunc(Variables, func(v Variable) bool { return v.Name == name || v.Name == name+"*" })
	}
	found := map[string]bool{}
	lists := []string{filepath.Join(root, "internal/guard/cli/variables.go"), filepath.Join(root, "internal/guard/supervisor/variables.go")} // the latter of what goes to servers
	for _, dir := range []string{"internal/guard", "internal/clients", "cmd/sentinel-guard"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || slices.Contains(lists, path) {
				return err
			}
			raw, err := os.ReadFile(path)
			for _, m := range literal.FindAllStringSubmatch(string(raw), -1) {
				found[m[1]] = true
				if !listed(m[1]) {
					t.Errorf("%s reads %s, which the manual does not name", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range Variables {
		if name := strings.TrimSuffix(v.Name, "*"); !found[name] && name != "HOME" && name != "PATH" {
			t.Errorf("the manual names %s, which nothing reads", v.Name)
		}
	}
}
