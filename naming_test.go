// SPDX-License-Identifier: Apache-2.0

package sentinel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// surfaces are the packages of a platform that read one surface of the system,
// such as a file system or a program's output. All others have the name of a domain.
var surfaces = map[string][]string{
	"linux": {
		"accounts", "aptconf", "caller", "cgroup", "conntrack", "cpuinfo", "dockerd", "errqueue", "fuse", "interfaces", "journald", "mounts", "netattr", "packages", "pidfd", "posture", "procfs", "release", "resolvconf", "scheduling", "sessions", "sockdiag", "sysfs",
		"systemd", "tunnels", "unitfile", "utmp", "virt", "wireguard",
	},
	"darwin": {
		"codesign", "diskutil", "extensions", "inet", "launchctl", "lsof", "mount", "netstat", "pfctl", "posture", "prefs", "plist", "ps", "release", "routing", "sessions",
		"sensors", "socketfilterfw", "sysctl", "systemprofiler", "thermal", "vmstat",
	},
}

func TestADomainHasOneNameOnEverySystem(t *testing.T) {
	for system, own := range surfaces {
		entries, err := os.ReadDir(filepath.Join("platform", system))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.Contains(domains, e.Name()) && !slices.Contains(own, e.Name()) {
				t.Errorf("platform/%s/%s is neither a domain nor a surface of the system that naming_test.go lists", system, e.Name())
			}
		}
		for _, name := range own {
			if _, err := os.Stat(filepath.Join("platform", system, name)); err != nil {
				t.Errorf("surfaces: %v", err)
			}
		}
	}
	for _, name := range domains {
		if _, err := os.Stat(filepath.Join("internal", name)); err != nil {
			t.Errorf("domains: %v", err)
		}
	}
}

// privateWords name nothing that an engineer of the field would look for.
var privateWords = []string{
	"belief", "belong", "bridge", "common", "cutter", "doors", "folder", "forgive", "gate", "guilty", "hangup", "helpers", "house", "lends",
	"mend", "misc", "patient", "plumbing", "prover", "shuts", "sought", "spoilt", "surroundings", "ticket", "told", "util", "utils", "vital",
	"vitals", "volley", "wall", "world",
}

func TestPackagesAndFilesHaveTheWordsOfTheField(t *testing.T) {
	for _, file := range goFiles(t) {
		for _, word := range strings.FieldsFunc(strings.TrimSuffix(filepath.ToSlash(file), ".go"), func(r rune) bool { return r == '/' || r == '_' }) {
			if slices.Contains(privateWords, word) {
				t.Errorf("%s: %q is a private word", file, word)
			}
		}
	}
}

// readers says for a file of the system which package parses it. Another one that
// names the file asks that package, or says here what it does with the name.
var readers = map[string]struct {
	parser string
	others map[string]string // packages that name the file and do not parse it, with the reason
}{
	"mountinfo":   {"platform/linux/mounts", nil},
	"passwd":      {"internal/userdb", map[string]string{"internal/logins": "names the program that changes passwords", "platform/linux/services": "names the database that it has getent ask"}},
	"os-release":  {"platform/linux/release", nil},
	"machine-id":  {"platform/linux/release", nil},
	"resolv.conf": {"platform/linux/resolvconf", map[string]string{"internal/host/local": "says where they are configured"}},
	"ufw.conf":    {"platform/linux/firewall", nil},
	"loadavg":     {"platform/linux/procfs", nil},
	"meminfo":     {"platform/linux/procfs", nil},
	"cpuinfo":     {"platform/linux/cpuinfo", nil},
	"sshd_config": {"platform/unix/sshdconf", map[string]string{"platform/linux/services": "names it to tell which test a service has", "platform/linux/firewall": "lets in each port that any file names, before the first run of the server tells which are in force"}},
	"sudoers":     {"platform/unix/sudoers", map[string]string{"internal/elevation": "says from where the shipped rules are installed"}},
	"mcp.json":    {"internal/clients", nil},
}

func TestAFileOfTheSystemHasOneReader(t *testing.T) {
	imports := map[string][]string{}
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos, "./internal/...", "./platform/...") {
			name := strings.TrimPrefix(p.ImportPath, module+"/")
			imports[name] = append(imports[name], p.Imports...)
		}
	}
	for _, file := range goFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if strings.HasSuffix(file, "_test.go") || imports[dir] == nil || slices.Contains(forTests, dir) {
			continue
		}
		for _, text := range stringsOf(t, file) {
			r, ok := readers[path.Base(text)]
			if ok && dir != r.parser && r.others[dir] == "" && !slices.Contains(imports[dir], module+"/"+r.parser) {
				t.Errorf("%s names %q and does not ask %s", file, text, r.parser)
			}
		}
	}
}

// stringsOf returns the string literals of a file, imports and tags left out.
func stringsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			_, isImport := n.(*ast.ImportSpec)
			return !isImport
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				list = append(list, text)
			}
		}
		return true
	})
	return list
}

// Domains are the same on every system; what differs comes from the platform
// through internal/host.
func TestDomainsKnowNoSystem(t *testing.T) {
	for _, file := range goFiles(t) {
		domain, inDomain := strings.CutPrefix(filepath.ToSlash(filepath.Dir(file)), "internal/")
		if !inDomain || !slices.Contains(domains, domain) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "GOOS" {
				t.Errorf("%s asks for the operating system", file)
			}
			return true
		})
	}
}

func TestTheLayoutHasEveryDomain(t *testing.T) {
	raw, err := os.ReadFile("docs/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, domain := range domains {
		if !strings.Contains(string(raw), "\n| "+domain+" | ") {
			t.Errorf("docs/layout.md has no row for the domain %s", domain)
		}
	}
}

// strangeWords are for none who reads a message, a help text or a page.
var strangeWords = regexp.MustCompile(`(?i)\b(?:mend|mends|mended|kin|akin|heed|heeds|heeded|let yourself)\b`)

func TestTextsHaveTheWordsOfTheField(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, text := range stringsOf(t, file) {
			if word := strangeWords.FindString(text); word != "" {
				t.Errorf("%s says %q: %s", file, word, text)
			}
		}
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/man/*", "packaging/*/*"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Errorf("%s: %v", pattern, err)
		}
		for _, page := range pages {
			raw, err := os.ReadFile(page)
			if err != nil {
				continue // a directory
			}
			if word := strangeWords.Find(raw); word != nil {
				t.Errorf("%s says %q", page, word)
			}
		}
	}
}

// A name that somebody chose may hold a quotation mark. What %q and strconv.Quote make of it, `\"`, reads
// as the end of the name once something renders the backslash, and what follows as ours: another PID, or
// another machine. So whoever words what is about to be done to a machine leaves no such mark in it.
func TestWhatIsAskedQuotesByOneRule(t *testing.T) {
	asked := map[string]bool{"internal/cli": false} // packages that word a plan, and whether all of their files do
	for _, file := range goFiles(t) {
		if declares(t, file, "Summary") && !strings.HasSuffix(file, "_test.go") {
			asked[filepath.ToSlash(filepath.Dir(file))] = true
		}
	}
	for _, domain := range []string{"blocklist", "firewall", "processes", "services"} {
		if !asked["internal/"+domain] {
			t.Errorf("%s words no plan", domain)
		}
	}
	for _, file := range goFiles(t) {
		whole, ok := asked[filepath.ToSlash(filepath.Dir(file))]
		if !ok || !whole && !strings.HasPrefix(filepath.Base(file), "plan_") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, text := range stringsOf(t, file) {
			if strings.Contains(text, "%q") {
				t.Errorf("%s quotes with %%q in %q; use sanitize.Quoted", file, text)
			}
		}
		if calls(t, file, "strconv", "Quote") {
			t.Errorf("%s calls strconv.Quote; use sanitize.Quoted", file)
		}
	}
}

// declares reports whether a file declares a function or a method of a name.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	return found(t, file, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		return ok && f.Name.Name == name
	})
}

// calls reports whether a file names a function of a package.
func calls(t *testing.T, file, of, name string) bool {
	t.Helper()
	return found(t, file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != name {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == of
	})
}

// found reports whether a file holds something.
func found(t *testing.T, file string, is func(ast.Node) bool) (yes bool) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		yes = yes || n != nil && is(n)
		return !yes
	})
	return yes
}
