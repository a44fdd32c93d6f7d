// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// What each preset does to ordinary calls of the tools of well-known servers: those named are the presets
// that refuse them or ask a person. A preset that somebody puts into the file for all servers must not stop
// what it is not about.
func TestPresetsLeaveOtherServersAlone(t *testing.T) {
	const reads, writes = `{"readOnlyHint":true}`, `{"readOnlyHint":false}`
	env := Environment{Home: "/home/nobody", Project: "/srv/project", Dir: "/srv/project"}
	sets := map[string]*Set{}
	for _, name := range Presets() {
		text, _ := Preset(name)
		sets[name] = compile(t, env, text)
	}
	for _, c := range []struct {
		server, tool, annotations, arguments string
		refused                              string
	}{
		{"filesystem", "read_text_file", reads, `{"path":"notes.md","head":20}`, ""},
		{"filesystem", "read_media_file", reads, `{"path":"images/a.png"}`, ""},
		{"filesystem", "read_multiple_files", reads, `{"paths":["a.go","b/c.go"]}`, ""},
		{"filesystem", "write_file", writes, `{"path":"a.md","content":"DROP TABLE t"}`, "read-only"},
		{"filesystem", "edit_file", writes, `{"path":"a.md","edits":[{"oldText":"/etc/passwd","newText":"b"}],"dryRun":true}`, "read-only"},
		{"filesystem", "create_directory", writes, `{"path":"new"}`, "read-only"},
		{"filesystem", "list_directory", reads, `{"path":"."}`, ""},
		{"filesystem", "list_directory", reads, `{"path":"/srv"}`, "filesystem"},
		{"filesystem", "directory_tree", reads, `{"path":"src","excludePatterns":["*.o"]}`, ""},
		{"filesystem", "move_file", writes, `{"source":"a","destination":"b"}`, "filesystem read-only"},
		{"filesystem", "search_files", reads, `{"path":"src","pattern":"**/*.go"}`, ""},
		{"filesystem", "search_files", reads, `{"path":"/","pattern":"*.pem"}`, "filesystem"},
		{"filesystem", "get_file_info", reads, `{"path":".ssh/id"}`, "filesystem"},
		{"filesystem", "list_allowed_directories", reads, `{}`, ""},
		{"filesystem", "move_file", writes, `{"source":"a","destination":".ssh/authorized_keys"}`, "filesystem read-only"},
		{"memory", "create_entities", writes, `{"entities":[{"name":"Ann","entityType":"person","observations":["uses git push --force"]}]}`, "read-only"},
		{"memory", "delete_entities", writes, `{"entityNames":["Ann"]}`, "read-only"},
		{"memory", "delete_observations", writes, `{"deletions":[]}`, "read-only"},
		{"memory", "read_graph", reads, `{}`, ""},
		{"memory", "search_nodes", reads, `{"query":"what is select?"}`, ""},
		{"memory", "open_nodes", reads, `{"names":["Ann"]}`, ""},
		{"everything", "echo", reads, `{"message":"rm -rf /"}`, ""},
		{"everything", "get-sum", reads, `{"a":1,"b":2}`, ""},
		{"everything", "get-resource-reference", reads, `{"resourceType":"Text","resourceId":1}`, ""},
		{"everything", "gzip-file-as-resource", reads, `{"name":"a.gz","data":"https://example.org/a"}`, ""},
		{"git", "git_status", reads, `{"repo_path":"/srv/project"}`, ""},
		{"git", "git_log", reads, `{"repo_path":".","max_count":5}`, ""},
		{"git", "git_diff", reads, `{"repo_path":".","target":"main"}`, ""},
		{"git", "git_add", writes, `{"repo_path":".","files":["a.go"]}`, "read-only"},
		{"git", "git_commit", writes, `{"repo_path":".","message":"drop the query"}`, "read-only"},
		{"git", "git_create_branch", writes, `{"repo_path":".","branch_name":"x"}`, "read-only"},
		{"git", "git_checkout", writes, `{"repo_path":".","branch_name":"x"}`, "git read-only"},
		{"git", "git_reset", writes, `{"repo_path":"."}`, "git read-only"},
		{"git", "git_show", reads, `{"repo_path":"/srv/other","revision":"HEAD"}`, "git"},
		{"github", "get_file_contents", reads, `{"owner":"a","repo":"b","path":"docs/x.md"}`, ""},
		{"github", "search_code", reads, `{"query":"path:/etc"}`, ""},
		{"github", "push_files", writes, `{"owner":"a","repo":"b","branch":"c","files":[{"path":"x","content":"y"}],"message":"m"}`, "git read-only"},
		{"github", "merge_pull_request", writes, `{"owner":"a","repo":"b","pullNumber":1}`, "git read-only"},
		{"sqlite", "read_query", reads, `{"query":"SELECT load FROM m LIMIT 5"}`, ""},
		{"sqlite", "read_query", reads, `{"query":"SELECT * FROM m"}`, "sql"},
		{"sqlite", "write_query", writes, `{"query":"INSERT INTO m VALUES (1)"}`, "read-only sql"},
		{"sqlite", "create_table", writes, `{"query":"CREATE TABLE m (a)"}`, "read-only sql"},
		{"sqlite", "list_tables", reads, `{}`, ""},
		{"sqlite", "describe_table", reads, `{"table_name":"m"}`, ""},
		{"sqlite", "append_insight", writes, `{"insight":"the query is slow"}`, "read-only"},
		{"postgres", "query", reads, `{"sql":"SELECT 1"}`, ""},
		{"docs", "query-docs", reads, `{"libraryId":"/go/x","query":"How do I delete a file?"}`, ""},
		{"web", "search", reads, `{"query":"best select boxes"}`, ""},
		{"web", "fetch", reads, `{"url":"https://example.org/server.key"}`, ""},
		{"shop", "get_credit_limit", reads, `{"path":"/accounts/5"}`, ""},
		{"shop", "push_notification", writes, `{"text":"merged"}`, "read-only"},
		{"shop", "reset_password", writes, `{"user":"a"}`, "read-only"},
		{"shell", "execute_command", writes, `{"command":"ls","statement":"x"}`, "read-only"},
	} {
		var refused []string
		for _, name := range Presets() {
			d := sets[name].Decide(Call{Method: ToolsCall, Server: c.server, Name: c.tool, Arguments: []byte(c.arguments), Annotations: []byte(c.annotations)})
			if d.Action > Log {
				refused = append(refused, name)
			}
		}
		if got := strings.Join(refused, " "); got != c.refused {
			t.Errorf("%s %s %s is refused by %q, want %q", c.server, c.tool, c.arguments, got, c.refused)
		}
	}
}

// The tools of sentinel-mcp, as it lists them: looking is free under each preset, and what changes the
// machine is recorded under its own.
func TestPresetsKnowTheToolsOfSentinel(t *testing.T) {
	raw, err := os.ReadFile("../../mcpserver/testdata/tools_list.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct {
		Name        string
		Annotations struct{ ReadOnlyHint bool }
	}
	if err := json.Unmarshal(raw, &tools); err != nil || len(tools) < 20 {
		t.Fatal(len(tools), err)
	}
	for _, tool := range tools {
		for _, name := range Presets() {
			text, _ := Preset(name)
			annotations := `{"readOnlyHint":false}`
			if tool.Annotations.ReadOnlyHint {
				annotations = `{"readOnlyHint":true}`
			}
			d := compile(t, Environment{Project: "/srv/project", Dir: "/srv/project"}, text).Decide(Call{Method: ToolsCall, Server: "sentinel", Name: tool.Name, Annotations: []byte(annotations)})
			want := Allow
			switch {
			case name == "read-only" && !tool.Annotations.ReadOnlyHint:
				want = Block
			case name == "sentinel" && tool.Name == "send_telemetry_webhook":
				want = Ask
			case name == "sentinel" && !tool.Annotations.ReadOnlyHint && tool.Name != "scan_ports" && tool.Name != "traceroute" && tool.Name != "dns_lookup":
				want = Log
			}
			if d.Action != want {
				t.Errorf("%s under %s: %v by %q, want %v", tool.Name, name, d.Action, d.Rule, want)
			}
		}
	}
}
