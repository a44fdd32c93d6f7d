// SPDX-License-Identifier: Apache-2.0

// Package sentinel_test holds the code to the rules of the house: what may
// import what, what every file and package carries, and what never links.
package sentinel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module = "sentinel"
	header = "// SPDX-License-Identifier: Apache-2.0\n"
)

// domains own their types and rules; none knows another.
var domains = []string{
	"assets", "audit", "blocklist", "containers", "diskusage", "firewall", "dnslookup", "health", "logins", "logs", "network", "portscan", "processes", "services", "startup", "traceroute", "updates", "webhook",
}

// foundations may be imported by domains and by each other where a line says
// so. fault is one because a refusal is a rule of its domain and has a code.
var foundations = []string{"answer", "atomicfile", "config", "deadline", "editdistance", "fault", "hashchain", "lazyregexp", "lockfile", "otlp", "progress", "prometheus", "reach", "remotedesktop", "sampling", "sanitize", "sessions", "sshserver", "statefile", "humanize", "target", "timespec", "trust", "vpn"}

// forTests are the packages that nothing but tests imports.
var forTests = []string{"internal/testenv", "internal/testenv/deadfuse", "internal/testenv/testnet", "internal/sysexec/replay", "internal/audit/audittest", "internal/blocklist/blocklisttest", "internal/processes/processestest", "internal/services/servicestest"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, goos string, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos, "./...") {
			name := strings.TrimPrefix(p.ImportPath, module+"/")
			for _, imported := range p.Imports {
				if why := forbidden(name, imported); why != "" {
					t.Errorf("%s (%s) imports %s: %s", name, goos, imported, why)
				}
			}
		}
	}
}

func forbidden(name, imported string) string {
	own, internal := strings.CutPrefix(imported, module+"/")
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".") && !internal
	domain, isDomain := strings.CutPrefix(name, "internal/")
	isDomain = isDomain && slices.Contains(domains, domain)
	switch {
	case strings.HasPrefix(name, "test/"):
		return ""
	case name == "internal/ops" && !standard:
		return "the table imports the standard library alone"
	case imported == "os/exec" && name != "internal/sysexec" && !slices.Contains(forTests, name):
		return "only sysexec runs programs"
	case strings.HasPrefix(imported, "github.com/spf13/cobra") && name != "internal/guard/cli":
		return "only the guard's command line knows its library"
	case strings.HasPrefix(own, "internal/guard/") && !strings.HasPrefix(name, "internal/guard/") && name != "cmd/sentinel-guard" && name != "internal/gen":
		return "the guard is a program of its own"
	case strings.HasPrefix(imported, "github.com/mark3labs/mcp-go") && name != "internal/mcpserver":
		return "only mcpserver speaks MCP"
	case strings.HasPrefix(imported, "github.com/google/renameio") && name != "internal/atomicfile":
		return "only atomicfile replaces files, and syncs their directories"
	case strings.HasPrefix(imported, "github.com/tailscale/hujson") && name != "internal/clients/edit":
		return "only edit changes configurations of clients"
	case strings.HasPrefix(imported, "cel.dev/") && name != "internal/guard/policy/expression":
		return "only expression evaluates CEL"
	case name == "internal/guard/policy/as" && internal:
		return "how a value is understood depends on nothing else"
	case own == "internal/schema" && name != "internal/gen":
		return "schemas are generated, and what makes them is in neither program"
	case name == "internal/gen" && strings.HasPrefix(own, "platform/") && strings.HasSuffix(own, "/audit"):
		return "" // the page of checks lists those of both systems
	case strings.HasPrefix(own, "platform/") && !strings.HasPrefix(name, "internal/host/") && !strings.HasPrefix(name, "platform/"):
		return "only host assembles the platform"
	case internal && isDomain && !slices.Contains(foundations, strings.TrimPrefix(own, "internal/")):
		return "a domain imports foundations alone"
	case strings.HasPrefix(name, "platform/") && (slices.Contains([]string{"internal/cli", "internal/mcpserver", "internal/ops"}, own) || strings.HasPrefix(own, "internal/host")):
		return "the platform knows nothing above the domains"
	case imported == "testing" || slices.Contains(forTests, own):
		if slices.Contains(forTests, name) {
			return ""
		}
		return "what serves tests is for tests"
	}
	return ""
}

// The start of sentinel is part of every answer: mcp-go and the JSON Schema
// library it brings cost it five times over.
func TestSentinelLinksNeitherMCPNorJSONSchema(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos, "./cmd/sentinel") {
			for _, dependency := range p.Deps {
				if strings.Contains(dependency, "mcp-go") || strings.Contains(dependency, "jsonschema") || strings.Contains(dependency, "hujson") || slices.Contains([]string{"sentinel/internal/gen", "sentinel/internal/schema", "go/parser"}, dependency) {
					t.Errorf("sentinel on %s links %s", goos, dependency)
				}
			}
		}
	}
}

// The SDK of OpenTelemetry costs 3 ms of every start and 14 MB, most of it gRPC.
func TestSentinelLinksNoSDKOfOpenTelemetry(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos, "./cmd/sentinel", "./cmd/sentinel-mcp") {
			for _, dependency := range p.Deps {
				for _, heavy := range []string{"go.opentelemetry.io/", "google.golang.org/grpc", "google.golang.org/protobuf"} {
					if strings.HasPrefix(dependency, heavy) {
						t.Errorf("%s on %s links %s", p.ImportPath, goos, dependency)
					}
				}
			}
		}
	}
}

// What serves the guard alone is in the guard alone: both other programs start in milliseconds.
func TestOnlyTheGuardLinksItsLibraries(t *testing.T) {
	guards := []string{"cel.dev/", "golang.org/x/mod", "github.com/sony/gobreaker", "github.com/spf13/cobra", "pgregory.net/rapid", "sentinel/internal/guard"}
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos, "./cmd/sentinel", "./cmd/sentinel-mcp") {
			for _, dependency := range p.Deps {
				if slices.ContainsFunc(guards, func(g string) bool { return strings.HasPrefix(dependency, g) }) {
					t.Errorf("%s on %s links %s", p.ImportPath, goos, dependency)
				}
			}
		}
		for _, p := range list(t, goos, "./cmd/sentinel-guard") {
			for _, dependency := range p.Deps {
				if strings.Contains(dependency, "mcp-go") || strings.HasPrefix(dependency, "pgregory.net/rapid") || strings.HasPrefix(dependency, "sentinel/platform/") {
					t.Errorf("sentinel-guard on %s links %s", goos, dependency)
				}
			}
		}
	}
}

// A server runs for as long as its client does, and must not go before others.
func TestTheServerCannotBePreferred(t *testing.T) {
	for _, p := range list(t, "linux", "./cmd/sentinel-mcp") {
		for _, dependency := range p.Deps {
			if strings.HasPrefix(dependency, module+"/platform/") {
				t.Errorf("sentinel-mcp links %s", dependency)
			}
		}
	}
}

func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Who runs this is asked in one place, so that no two answers differ while root
// is given up. What serves tests alone may ask for itself.
func TestUserIDsAreAskedInOnePlace(t *testing.T) {
	asks := map[string]bool{"Geteuid": true, "Getuid": true}
	for _, file := range goFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(dir, "test/") || slices.Contains(forTests, dir) || dir == "internal/privilege" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !asks[call.Sel.Name] {
				return true
			}
			if from, ok := call.X.(*ast.Ident); ok && slices.Contains([]string{"os", "syscall", "unix"}, from.Name) {
				t.Errorf("%s calls %s.%s: ask internal/privilege", file, from.Name, call.Sel.Name)
			}
			return true
		})
	}
}

// The platform tells the domains about the system, through internal/host. What a
// front end must know about it, it asks there.
func TestTheSystemStaysBelowTheDomains(t *testing.T) {
	manager := regexp.MustCompile(`(?i)systemd|systemctl|launchd|launchctl|journalctl|scutil|resolv\.conf`)
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		mayAsk := slices.ContainsFunc([]string{"cmd/", "internal/host/", "test/"}, func(dir string) bool { return strings.HasPrefix(file, dir) })
		inDomain := slices.ContainsFunc(domains, func(d string) bool { return strings.HasPrefix(file, "internal/"+d+"/") })
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && of.Name == "runtime" && n.Sel.Name == "GOOS" && !mayAsk {
					t.Errorf("%s reads runtime.GOOS", file)
				}
			case *ast.Ident:
				if inDomain && manager.MatchString(n.Name) {
					t.Errorf("%s names %s", file, n.Name)
				}
			case *ast.BasicLit:
				if inDomain && manager.MatchString(n.Value) {
					t.Errorf("%s says %s", file, n.Value)
				}
			}
			return true
		})
	}
}

func TestEveryFileNamesItsLicence(t *testing.T) {
	for _, file := range goFiles(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(raw, []byte(header+"\n")) {
			t.Errorf("%s does not begin with %q and a blank line", file, strings.TrimSpace(header))
		}
	}
}

func TestEveryPackageIsDocumentedOnce(t *testing.T) {
	docs := map[string][]string{}
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		if docs[dir] == nil {
			docs[dir] = []string{}
		}
		if parsed.Doc != nil {
			docs[dir] = append(docs[dir], file)
		}
	}
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("package %s has %d package comments: %v", dir, len(files), files)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && f.Doc == nil && exportedReceiver(f) {
				t.Errorf("%s: %s has no comment", file, f.Name.Name)
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	kind := f.Recv.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	name, ok := kind.(*ast.Ident)
	return ok && name.IsExported()
}

// Fixtures are made up: they hold addresses from the ranges for documentation
// and nobody's hardware.
func TestFixturesNameNobody(t *testing.T) {
	mac := regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`)
	v4 := regexp.MustCompile(`\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || path == "test/clients") {
			return filepath.SkipDir
		}
		inFixture := strings.Contains(path, "testdata"+string(filepath.Separator))
		if err != nil || !inFixture || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range mac.FindAllString(string(raw), -1) {
			if !documentationMAC(m) {
				t.Errorf("%s holds the hardware address %s", path, m)
			}
		}
		for _, a := range v4.FindAllString(string(raw), -1) {
			if !documentationAddress(a) {
				t.Errorf("%s holds the address %s", path, a)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func documentationMAC(m string) bool {
	m = strings.ToLower(m)
	return strings.HasPrefix(m, "00:00:5e:00:53:") || m == "00:00:00:00:00:00" || m == "ff:ff:ff:ff:ff:ff"
}

func documentationAddress(text string) bool {
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	for _, allowed := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"} {
		if netip.MustParsePrefix(allowed).Contains(a) {
			return true
		}
	}
	return false
}
