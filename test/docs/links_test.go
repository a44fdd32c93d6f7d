// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// pages reads every page of the repository, by its path from the root.
func pages(t *testing.T) map[string]page {
	t.Helper()
	found := map[string]page{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata", "dist", "bin"}, d.Name()):
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		raw, err := os.ReadFile(filepath.Join(root, name))
		found[name] = parse(string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 || found["README.md"].prose == "" {
		t.Fatalf("only %d pages were found", len(found))
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	all := pages(t)
	for name, p := range all {
		for _, to := range p.links() {
			if why := broken(all, name, to); why != "" {
				t.Errorf("%s links to %s: %s", name, to, why)
			}
		}
	}
}

// The index leads to every page for people, and the README to the index.
func TestTheIndexHasEveryPage(t *testing.T) {
	all := pages(t)
	index := all["docs/README.md"].links()
	for name := range all {
		if in, page := path.Split(name); in == "docs/" && page != "README.md" && !slices.Contains(index, page) {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
	if !slices.Contains(all["README.md"].links(), "docs/README.md") {
		t.Error("README.md does not lead to docs/README.md")
	}
}

// broken says what is wrong with a link. Other sites are not asked: that they
// do not answer says nothing about the page.
func broken(all map[string]page, from, to string) string {
	if strings.HasPrefix(to, "https://") {
		return ""
	}
	if strings.Contains(to, ":") {
		return "neither a page of the repository nor https"
	}
	file, anchor, _ := strings.Cut(to, "#")
	target := from
	if file != "" {
		target = path.Join(path.Dir(from), file)
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return "there is no such file"
	}
	if p, ok := all[target]; anchor != "" && (!ok || !p.anchors()[anchor]) {
		return "there is no such heading"
	}
	return ""
}

// Paths in prose and commands are those of files that are there.
func TestEveryPathIsThere(t *testing.T) {
	named := regexp.MustCompile("[` ]((?:cmd|docs|internal|packaging|platform|test|testdata|\\.ci)/[A-Za-z0-9_./*<>-]+)")
	placeholder := regexp.MustCompile(`<[^>]*>`)
	for name, p := range pages(t) {
		if name == "CHANGELOG.md" { // what was may be gone
			continue
		}
		for _, m := range named.FindAllStringSubmatch(p.prose+strings.Join(p.blocks, ""), -1) {
			pattern := placeholder.ReplaceAllString(strings.TrimRight(m[1], ".,/"), "*")
			if found, err := filepath.Glob(filepath.Join(root, pattern)); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", name, pattern)
			}
		}
	}
}
