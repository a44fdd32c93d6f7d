// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// Who wraps his own servers is told of those that no edit of his reaches.
func TestServersOfTheAdministratorAreNamed(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.RequireIsolated(t)
	if err := unix.Mount("tmpfs", "/etc", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	atHome(t, map[string]string{".claude.json": claudeCode})
	if err := os.Mkdir("/etc/claude-code", 0o755); err != nil {
		t.Fatal(err)
	}
	const path = "/etc/claude-code/managed-mcp.json"
	for text, want := range map[string]bool{`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`: true, `{"mcpServers": {}}`: false, `{`: false} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := run(t, "wrap", "--all", "--dry-run")
		if strings.Contains(strings.Join(strings.Fields(stdout), " "), "2 servers in "+path+" can be put behind the guard by the administrator alone") != want {
			t.Errorf("%s: %s", text, stdout)
		}
	}
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"a": {"command": "x"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, diagnosed(t), "out_of_reach", "", findingUnknown, "1 server in "+path, "")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := run(t, "wrap", "--all", "--dry-run"); strings.Contains(stdout, path) {
		t.Errorf("anybody's file is the administrator's: %s", stdout)
	}
}
