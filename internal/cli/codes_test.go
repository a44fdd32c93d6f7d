// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// ownCodes says with which codes an action fails that not every action has, by
// the action of its documents.
func ownCodes() map[string][]fault.Code {
	filter := []fault.Code{fault.FirewallFailed, fault.PFReloadFailed, fault.NoFirewall, fault.StateCorrupt}
	return map[string][]fault.Code{
		"terminate_process": {fault.InvalidPID, fault.ProcessNotFound, fault.ProcessChanged, fault.ProtectedProcess, fault.StillRunning},
		"block_ip":          append([]fault.Code{fault.InvalidIP, fault.AlreadyBlocked, fault.ProtectedAddress}, filter...),
		"unblock_ip":        append([]fault.Code{fault.InvalidIP, fault.NotBlocked}, filter...),
		"list_blocked":      {fault.StateCorrupt},
		"enable_firewall":   {fault.FirewallFailed, fault.NoFirewall, fault.StateCorrupt},
		"restart_service":   {fault.InvalidService, fault.ServiceNotFound, fault.ServiceMasked, fault.ServiceInactive, fault.ProtectedService, fault.RestartFailed},
		"scan_ports":        {fault.InvalidTarget, fault.InvalidPortRange, fault.HostNotFound, fault.TargetNotAllowed},
		"webhook":           {fault.InvalidURL, fault.WebhookFailed, fault.WebhookQueued},
		"dns_lookup":        {fault.InvalidTarget, fault.HostNotFound},
		"traceroute":        {fault.InvalidTarget, fault.HostNotFound},
		"action_history":    {fault.JournalFailed},
		"report":            {fault.WebhookFailed, fault.WebhookQueued},
		"restore_blocklist": filter,
		"verify_journal":    {fault.JournalFailed},
	}
}

type codeGroup struct {
	who   string
	codes []fault.Code
}

// sharedCodes are those that an action has by what it is.
func sharedCodes() []codeGroup {
	return []codeGroup{
		{"every action", []fault.Code{fault.ConfigInvalid, fault.PermissionDenied, fault.Unavailable, fault.Unsupported, fault.Timeout, fault.Cancelled, fault.Internal}},
		{"every tool, for an argument that is unknown, missing or of the wrong form", []fault.Code{fault.InvalidArgument}},
		{"a command line that makes no sense", []fault.Code{fault.Usage}},
		{"every tool, to callers through sudo whom the configuration limits", []fault.Code{fault.DisabledByPolicy}},
		{"what ends or cuts something, to the same", []fault.Code{fault.RateLimited}},
		{"every change, and webhooks sent as root", []fault.Code{fault.JournalFailed}},
		{"`sentinel-mcp`, for a `sentinel` that is not there or not its own", []fault.Code{fault.SentinelNotFound, fault.BadOutput}},
	}
}

// What the reference says of codes is compared with the source: each code that
// the packages of an action name must be one of its own or of all, and the other way round.
func TestTheReferenceNamesTheCodesOfTheSource(t *testing.T) {
	shared := map[fault.Code]bool{}
	for _, g := range sharedCodes() {
		for _, c := range g.codes {
			shared[c] = true
		}
	}
	own := ownCodes()
	named := map[fault.Code]bool{}
	for _, o := range ops.Actions() {
		for _, c := range own[o.Action] {
			named[c] = true
		}
	}
	for _, i := range fault.All() {
		if !shared[i.Code] && !named[i.Code] {
			t.Errorf("no action of the reference has %s", i.Code)
		}
	}
	for _, s := range []struct{ dirs, actions string }{
		{"internal/processes", "terminate_process"},
		{"internal/blocklist platform/linux/blocklist platform/darwin/blocklist", "block_ip unblock_ip list_blocked restore_blocklist"},
		{"internal/firewall platform/linux/firewall platform/darwin/firewall", "enable_firewall"},
		{"internal/services platform/linux/services platform/linux/systemd platform/darwin/services", "restart_service"},
		{"internal/portscan internal/target internal/dnslookup internal/traceroute", "scan_ports webhook dns_lookup traceroute report"},
		{"internal/health internal/network internal/assets internal/audit internal/updates internal/webhook", ""},
	} {
		source := namedIn(t, strings.Fields(s.dirs))
		for c := range source {
			if !shared[c] && !slices.ContainsFunc(strings.Fields(s.actions), func(a string) bool { return slices.Contains(own[a], c) }) {
				t.Errorf("%s name %s, and the reference of %q does not", s.dirs, c, s.actions)
			}
		}
		for a := range strings.FieldsSeq(s.actions) {
			for _, c := range own[a] {
				if !source[c] && !namedIn(t, []string{"internal/cli"})[c] {
					t.Errorf("the reference says that %s fails with %s, and %s do not name it", a, c, s.dirs)
				}
			}
		}
	}
}

// namedIn returns the codes that the source below directories names.
func namedIn(t *testing.T, dirs []string) map[fault.Code]bool {
	t.Helper()
	codes := constants(t)
	found := map[fault.Code]bool{}
	for _, directory := range dirs {
		walkGo(t, filepath.Join("..", "..", directory), func(file *ast.File) {
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
	return found
}

// constants maps the names of the codes in the source to the codes.
func constants(t *testing.T) map[string]fault.Code {
	t.Helper()
	names := map[string]fault.Code{}
	walkGo(t, filepath.Join("..", "fault"), func(file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if text, ok := v.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
					names[v.Names[0].Name] = fault.Code(strings.Trim(text.Value, `"`))
				}
			}
			return true
		})
	})
	return names
}

// walkGo hands on each file of a directory that is no test.
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
