// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// installedThere runs a command where the programs of this source are those that root has
// installed, and what root's first run writes stays out of this machine.
const installedThere = `set -e
mount --bind "$PROGRAMS" /usr/local/bin
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o lowerdir=/var/lib,upperdir=/mnt/upper,workdir=/mnt/work overlay /var/lib
exec "$@"
`

// A newcomer is somebody with Claude Code and one server, and a home of their own.
type newcomer struct {
	t              *testing.T
	home, programs string
	inspector      []string
}

func newNewcomer(t *testing.T) newcomer {
	t.Helper()
	testenv.Namespaces(t)
	packages := testenv.NodePackages(t)
	n := newcomer{t: t, home: t.TempDir(), programs: t.TempDir()}
	n.inspector = []string{testenv.Node(t), filepath.Join(packages, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli", "--config", filepath.Join(n.home, ".claude.json"), "--server", "machine"}
	for _, name := range []string{"sentinel", "sentinel-mcp", "sentinel-guard"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(n.programs, name), "./cmd/"+name)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return n
}

// file writes a file of the home and returns its path.
func (n newcomer) file(name, text string) string {
	n.t.Helper()
	path := filepath.Join(n.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// run returns what a command prints on stdout; those that fail are named by their output.
func (n newcomer) run(command ...string) string {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), "unshare", append([]string{"--mount", "--propagation", "private", "/bin/sh", "-c", installedThere, "sh"}, command...)...)
	cmd.Env = append(os.Environ(), "HOME="+n.home, "PROGRAMS="+n.programs, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "CLAUDE_CONFIG_DIR=", "SUDO_UID=", "MCP_POLICY_FILE=")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out) + errs.String() + err.Error()
	}
	return string(out)
}

func (n newcomer) must(want string, command ...string) {
	n.t.Helper()
	if got := n.run(command...); !strings.Contains(got, want) {
		n.t.Fatalf("%v does not say %q:\n%s", command, want, got)
	}
}

func (n newcomer) same(path, want string) {
	n.t.Helper()
	if raw, err := os.ReadFile(path); err != nil || string(raw) != want {
		n.t.Fatalf("%v: %s\nwant %s", err, raw, want)
	}
}

// From the first command to the last, as the documentation tells it.
func TestAServerOfAClientIsWrappedGuardedAndUnwrapped(t *testing.T) {
	n := newNewcomer(t)
	const before = "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"machine\": {\"type\": \"stdio\", \"command\": \"/usr/local/bin/sentinel-mcp\", \"args\": [\"--read-only\"]}\n  }\n}\n"
	config := n.file(".claude.json", before)
	n.file(".config/sentinel/guard.yaml", "rules:\n  - {name: no-inventory, tools: ['machine:get_asset_info'], action: block, reason: 'Ask for get_system_health.'}\n")
	const guard = "/usr/local/bin/sentinel-guard"
	n.must("  + command: "+guard, guard, "wrap", "--client", "claude-code", "--dry-run")
	n.same(config, before)
	n.must("machine (line 4): wrapped\n", guard, "wrap", "--client", "claude-code")
	wrapped := strings.NewReplacer("/usr/local/bin/sentinel-mcp", guard, `["--read-only"]`, `["run", "--name=machine", "--preset=sentinel", "--", "/usr/local/bin/sentinel-mcp", "--read-only"]`).Replace(before)
	n.same(config, wrapped)
	n.must("wrapped already", guard, "wrap", "--client", "claude-code")
	n.same(config, wrapped)
	n.must(`"get_system_health"`, append(n.inspector, "--method", "tools/list")...)
	n.must("processes_total", append(n.inspector, "--method", "tools/call", "--tool-name", "get_system_health")...)
	n.must("This call is not allowed by the user's rule", append(n.inspector, "--method", "tools/call", "--tool-name", "get_asset_info")...)
	n.must("refused POLICY_BLOCKED", guard, "calls", "--server=machine", "--tool=get_asset_info")
	n.must("The record is what was written", guard, "verify")
	n.must("machine (line 4): unwrapped\n", guard, "unwrap", "--all")
	n.same(config, before)
	n.shares(config, guard)
}

// shares has the server in the file of a project instead, which is changed on demand and names the
// guard without its path.
func (n newcomer) shares(own, guard string) {
	n.t.Helper()
	if err := os.Remove(own); err != nil {
		n.t.Fatal(err)
	}
	n.file(".claude/settings.json", "{}")
	const before = "{\"mcpServers\": {\n\"machine\": {\"command\": \"/usr/local/bin/sentinel-mcp\"}}}\n"
	shared := n.file("p/.mcp.json", before)
	there := func(command string) []string {
		return []string{"sh", "-c", "cd " + filepath.Dir(shared) + " && " + guard + " " + command}
	}
	n.must("machine (line 2): not wrapped\n", there("wrap --all")...)
	n.same(shared, before)
	n.must("machine (line 2): wrapped\n", there("wrap --client claude-code --project")...)
	inspector := slices.Clone(n.inspector)
	inspector[slices.Index(inspector, own)] = shared
	n.must("This call is not allowed by the user's rule", append(inspector, "--method", "tools/call", "--tool-name", "get_asset_info")...)
	n.must("machine (line 2): unwrapped\n", there("unwrap --client claude-code --project")...)
	n.same(shared, before)
}
