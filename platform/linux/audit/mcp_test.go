// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit/audittest"
	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/testenv"
)

const homeOfMira = "/home/mira"

// mira has no environment that moves a configuration.
func mira(root string) clients.User {
	return clients.User{OS: "linux", Home: filepath.Join(root, homeOfMira), Env: func(string) string { return "" }, UID: os.Geteuid()}
}

// foundFor says that the audit of the machine below root finds one server, in the
// configuration of c, that starts command.
func foundFor(t *testing.T, root string, c clients.Client, command string) {
	t.Helper()
	m := &machine{Parts: Parts{Root: root, Owner: os.Geteuid()}}
	all, err := m.mcp(t.Context())
	servers, whole := audittest.Seen(all.List())
	if err != nil || !whole || len(servers) != 1 {
		t.Errorf("%s: %+v, %v", c.ID, servers, err)
		return
	}
	want := strings.TrimPrefix(c.File(mira(root)), root)
	if s := servers[0]; s.Command != command || s.File != want || s.User.Name != "mira" {
		t.Errorf("%s: %+v, want %s in %s of mira", c.ID, s, command, want)
	}
}

func TestServerThatInstallEnteredIsFound(t *testing.T) {
	for _, c := range clients.Installable() {
		root := testenv.Plant(t, map[string]string{"etc/passwd": "mira:x:1000:1000::/home/mira:/bin/sh\n", "etc/group": "", "home/mira/": ""})
		e := edit.Entry{Command: "/usr/local/bin/sentinel-mcp", Args: []string{"--read-only"}}
		if _, err := edit.Install(t.Context(), mira(root), c, e, false); err != nil {
			t.Fatal(err)
		}
		foundFor(t, root, c, e.Command)
	}
}

func TestServersOfEveryClientAreFound(t *testing.T) {
	for _, c := range clients.All() {
		raw, err := json.Marshal(map[string]any{c.Servers: map[string]any{"s": map[string]string{"command": "/opt/s"}}})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(c.File(mira("/")), "/")
		foundFor(t, testenv.Plant(t, map[string]string{"etc/passwd": "mira:x:1000:1000::/home/mira:/bin/sh\n", "etc/group": "", "home/mira/": "", name: string(raw)}), c, "/opt/s")
	}
}

// What a user has in a configuration hides nothing of others.
func TestServersOfAUserHideNoneOfOthers(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`"s%d": {"command": "/no/such/a%d"}`, i, i))
	}
	other := os.Geteuid() + 1
	passwd := fmt.Sprintf("root:x:0:0::/root:/bin/sh\nmallory:x:%d:1000::/home/a:/bin/sh\nana:x:%d:1001::/home/b:/bin/sh\n", other, other+1)
	f := ask(t, "mcp.missing", map[string]string{
		"etc/passwd": passwd, "etc/group": "", "home/a/.cursor/mcp.json": `{"mcpServers": {` + strings.Join(many, ", ") + `}}`,
		"home/b/.cursor/mcp.json": `{"mcpServers": {"x": {"command": "/no/such/b"}}}`, "root/.cursor/mcp.json": `{"mcpServers": {"x": {"command": "/no/such/r"}}}`,
	})
	if n := len(f.Evidence); n != 102 || f.Evidence[0] != "/root/.cursor/mcp.json: x runs /no/such/r" || f.Owners[0] != "" || f.Owners[1] != fmt.Sprint(other) || f.Owners[101] != fmt.Sprint(other+1) {
		t.Errorf("%d lines: %+v", n, f)
	}
}
