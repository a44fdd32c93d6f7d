// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sentinel/internal/clients"
	"sentinel/internal/testenv"
	"sentinel/internal/version"
)

// official runs the official tool for bundles.
func official(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testenv.Node(t), append([]string{"node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("mcpb %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// within writes a script that runs a program like isolatedServer.
func within(t *testing.T, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "isolated")
	if err := os.WriteFile(path, []byte(fmt.Sprintf(isolatedServer, program)), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// goForThisMachine builds, for another machine, the one function of its second word: what is not run here need not be
// compiled three times over, and TestTypesHoldOnEverySystem reads it.
const goForThisMachine = `#!/bin/sh
[ "$1" != build ] || [ "$GOOS-$GOARCH" = %s ] || exec go build "$2" "$3" %s
exec go "$@"
`

// quickGo writes goForThisMachine, and what it builds.
func quickGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, script := filepath.Join(dir, "main.go"), filepath.Join(dir, "go")
	content := fmt.Sprintf(goForThisMachine, runtime.GOOS+"-"+runtime.GOARCH, source)
	if err := errors.Join(os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600), os.WriteFile(script, []byte(content), 0o755)); err != nil {
		t.Fatal(err)
	}
	return script
}

func TestOfficialToolTakesTheBundlesAndAClientRunsThem(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	testenv.Program(t, "make", "make")
	into := t.TempDir()
	build := exec.CommandContext(t.Context(), "make", "mcpb", "GO="+quickGo(t), "DIST="+into)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"macos", "linux-amd64", "linux-arm64"} {
		t.Run(name, func(t *testing.T) {
			bundle, unpacked := filepath.Join(into, "sentinel-"+version.Number+"-"+name+".mcpb"), filepath.Join(t.TempDir(), "unpacked")
			official(t, "unpack", bundle, unpacked)
			if said := official(t, "validate", filepath.Join(unpacked, "manifest.json")); !strings.Contains(said, "Manifest schema validation passes!") {
				t.Error(said)
			}
			again := filepath.Join(t.TempDir(), "again.mcpb")
			official(t, "pack", unpacked, again)
			if _, err := os.Stat(again); err != nil {
				t.Error(err)
			}
			for _, program := range []string{"sentinel", "sentinel-mcp"} {
				info, err := os.Stat(filepath.Join(unpacked, "server", program))
				if err != nil || info.Mode().Perm()&0o111 == 0 {
					t.Errorf("%s cannot be run: %v, %v", program, info.Mode(), err)
				}
			}
			if name == "linux-"+runtime.GOARCH {
				out, err := exec.CommandContext(t.Context(), within(t, testenv.Node(t)), "bundle.mjs", unpacked).CombinedOutput()
				if err != nil || strings.Count(string(out), "ok ") != 3 {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
}

// asked has sentinel-mcp enter itself into a client's configuration and hands
// that file, as it is, to the Inspector. It runs where /usr/local/bin is its own.
const asked = `set -e
mount -t tmpfs -o mode=755 tmpfs /usr/local/bin
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o lowerdir=/var/lib,upperdir=/mnt/upper,workdir=/mnt/work overlay /var/lib
cp "$PROGRAMS/sentinel" "$PROGRAMS/sentinel-mcp" /usr/local/bin/
unset SUDO_UID
/usr/local/bin/sentinel-mcp --install "$1" --read-only --toolsets all >&2
file=$2
shift 2
exec "$@" --cli --config "$HOME/$file" --server sentinel --method tools/list
`

// The clients cannot run here; a program that reads the same form can. VS Code
// keeps its servers under another name, which the Inspector does not know.
func TestInspectorReadsWhatInstallWrites(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	testenv.Namespaces(t)
	programs := filepath.Join(binaries(t), "real")
	for id, file := range map[string]string{
		"claude-desktop": ".config/Claude/claude_desktop_config.json", "claude-code": ".claude.json", "cursor": ".cursor/mcp.json", "gemini-cli": ".gemini/settings.json",
		"vscode": ".config/Code/User/mcp.json", "copilot-cli": ".copilot/mcp-config.json",
	} {
		t.Run(id, func(t *testing.T) {
			home := t.TempDir()
			ownServers(t, filepath.Join(home, file), id)
			launcher := []string{testenv.Node(t), "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"}
			script := asked
			if id == "vscode" || id == "copilot-cli" { // the one has another name for its servers, the other for the type
				script = strings.Replace(asked, "shift 2\n", `sed -e 's/"servers"/"mcpServers"/' -e 's/"local"/"stdio"/' "$HOME/$file" >"$HOME/read.json"; file=read.json; shift 2`+"\n", 1)
			}
			cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh", id, file}, launcher...)...)
			cmd.Env = append(os.Environ(), "HOME="+home, "PROGRAMS="+programs, "XDG_CONFIG_HOME=", "CLAUDE_CONFIG_DIR=", "COPILOT_HOME=")
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			var listed struct{ Tools []struct{ Name string } }
			if err != nil || json.Unmarshal(out, &listed) != nil {
				t.Fatalf("%v\n%s%s", err, out, errs.String())
			}
			names := map[string]bool{}
			for _, tool := range listed.Tools {
				names[tool.Name] = true
			}
			if !names["get_system_health"] || !names["get_action_history"] || names["terminate_process"] {
				t.Errorf("tools %v", names)
			}
		})
	}
}

// ownServers writes a configuration that somebody uses already.
func ownServers(t *testing.T, path, id string) {
	t.Helper()
	if _, ok := clients.ByID(id); !ok {
		t.Fatalf("there is no client %s", id)
	}
	servers := map[bool]string{true: "servers", false: "mcpServers"}[id == "vscode"]
	text := "{\n  \"theme\": \"dark\",\n  \"" + servers + "\": {\n    \"other\": {\n      \"command\": \"/bin/false\",\n      \"args\": []\n    }\n  }\n}\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
