// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// inspected is what the MCP Inspector's command line says about one method of a server.
type inspected struct {
	status         int
	stdout, stderr string
}

// inspect runs it with a configuration that has the server "direct" and "guarded".
func inspect(t *testing.T, config, server string, args ...string) inspected {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.HangLimit)
	defer cancel()
	launcher := nodeServer(t, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", "--config", config, "--server", server)
	cmd := exec.CommandContext(ctx, launcher[0], append(launcher[1:], args...)...)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(config)) // servers get no other variable of the state
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return inspected{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// twice writes a configuration that has a server direct and behind the guard.
func twice(t *testing.T, server []string) string {
	t.Helper()
	type entry struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	raw, err := json.Marshal(map[string]map[string]entry{"mcpServers": {
		"direct":  {"stdio", server[0], server[1:]},
		"guarded": {"stdio", program(t, "sentinel-guard"), append([]string{"--"}, server...)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An inspection is a method with its arguments, its status and a part of what is printed.
type inspection struct {
	args   string
	status int
	want   string
}

func TestTheInspectorPrintsTheSameBehindTheGuard(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "note.txt"), []byte("déjà <vu> \u2028 & 1e400\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		server []string
		tries  []inspection
	}{
		"everything": {nodeServer(t, serverEverything), []inspection{
			{"tools/list", 0, `"echo"`},
			{"resources/list", 0, `"uri"`},
			{"prompts/list", 0, `"simple-prompt"`},
			{"tools/call --tool-name echo --tool-arg message=déjà", 0, "Echo: déjà"},
		}},
		"filesystem": {nodeServer(t, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", files), []inspection{
			{"tools/list", 0, `"read_text_file"`},
			{"resources/list", 0, `"resources": []`},
			{"prompts/list", 0, `"prompts": []`},
			{"tools/call --tool-name read_text_file --tool-arg path=" + files + "/note.txt", 0, "déjà <vu>"},
			{"tools/call --tool-name read_text_file --tool-arg path=/etc/passwd", 5, "Access denied"},
		}},
	} {
		config := twice(t, test.server)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, try := range test.tries {
				args := append([]string{"--method"}, strings.Fields(try.args)...)
				direct, guarded := inspect(t, config, "direct", args...), inspect(t, config, "guarded", args...)
				if direct.status != try.status || !strings.Contains(direct.stdout, try.want) {
					t.Errorf("%s: %+v", try.args, direct)
				}
				if direct.status != guarded.status || direct.stdout != guarded.stdout { // on stderr is what the guard logs
					t.Errorf("%s: status %d direct, %d guarded\n%s\n%s", try.args, direct.status, guarded.status,
						firstDifference([]byte(direct.stdout), []byte(guarded.stdout)), guarded.stderr)
				}
			}
		})
	}
}
