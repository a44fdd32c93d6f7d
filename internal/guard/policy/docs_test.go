// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// workedRules returns the ten rules of a page, each with its calls.
func workedRules(t *testing.T, page string) [][]string {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```json\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(rules) != 10 {
		t.Fatalf("there are %d rules with calls", len(rules))
	}
	return rules
}

// checkCalls holds rules to what a page says of calls.
func checkCalls(t *testing.T, rules, calls string) {
	t.Helper()
	set := compile(t, Environment{Home: "/home/nobody", Project: "/srv/project", Dir: "/srv/project"}, rules)
	for line := range strings.SplitSeq(strings.TrimSpace(calls), "\n") {
		checkLine(t, set, line)
	}
}

// The rules of the documentation decide as it says.
func TestTheRulesOfTheDocumentation(t *testing.T) {
	for _, r := range workedRules(t, "policy.md") {
		checkCalls(t, r[1], r[2])
	}
}

// A worked rule stops something, and something passes it.
func TestTheRulesOfTheGuide(t *testing.T) {
	for _, r := range workedRules(t, "guard.md") {
		stopped, passed := strings.Count(r[2], `"expect":"block"`), strings.Count(r[2], `"expect":"allow"`)
		if stopped == 0 || passed == 0 {
			t.Errorf("%d calls are stopped and %d pass\n%s", stopped, passed, r[1])
		}
		checkCalls(t, r[1], r[2])
	}
}

// The commented file of defaults has every setting, and changes nothing.
func TestTheFileOfDefaults(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/guard.default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("defaults", raw, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]any }
	described, err := os.ReadFile(schemaFile)
	if err == nil {
		err = json.Unmarshal(described, &schema)
	}
	for key := range schema.Properties {
		if !regexp.MustCompile(`(?m)^(# )?` + key + `:`).Match(raw) {
			t.Errorf("the file does not have %s", key)
		}
	}
	if err != nil || len(schema.Properties) < 5 {
		t.Errorf("%d settings are described, %v", len(schema.Properties), err)
	}
	want, err := Parse("defaults", nil, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	want.Record = RecordRequired // which holds where no file says anything
	if got, want := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", *want); got != want {
		t.Errorf("the file says %s, and without it %s holds", got, want)
	}
}

// checkLine judges a written call and compares the decision with what its line expects.
func checkLine(t *testing.T, set *Set, line string) {
	t.Helper()
	var w struct {
		Method, On, Server, Name, Expect string
		Arguments, Annotations           json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &w); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if w.Method == "" {
		w.Method = ToolsCall
	}
	d, steps := set.Explain(Call{Method: w.Method, On: Side(w.On), Server: w.Server, Name: w.Name, Arguments: w.Arguments, Annotations: w.Annotations})
	if d.Action.String() != w.Expect {
		t.Errorf("%s\nis decided %s: %+v", line, d.Action, steps)
	}
}

// Where nobody knows the project, nothing is inside it.
func TestTheRootIsNoProject(t *testing.T) {
	t.Chdir("/")
	text, _ := Preset("filesystem")
	d := compile(t, Here(), text).Decide(Call{Method: ToolsCall, Name: "read_file", Arguments: []byte(`{"path":"/etc/passwd"}`)})
	if d.Action != Block || d.Rule != "below-the-project" {
		t.Errorf("%+v", d)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if got := Here(); got.Project != dir || got.Dir != dir {
		t.Errorf("%+v", got)
	}
}

func TestPresets(t *testing.T) {
	env := Environment{Home: "/home/nobody", Project: "/srv/project", Dir: "/srv/project"}
	calls := map[string]string{
		"read-only": `{"name":"read_file","annotations":{"readOnlyHint":true},"expect":"allow"}
			{"name":"read_file","expect":"block"}
			{"name":"delete_file","annotations":{"readOnlyHint":true},"expect":"block"}
			{"method":"prompts/get","name":"p","expect":"allow"}`,
		"sql": `{"name":"read_query","arguments":{"query":"SELECT * FROM t LIMIT 5"},"expect":"allow"}
			{"name":"read_query","arguments":{"query":"SELECT * FROM t"},"expect":"block"}
			{"name":"read_query","arguments":{"params":{"sql":"SELECT * FROM t"}},"expect":"block"}
			{"name":"write_query","arguments":{"query":"UPDATE t SET a = 1"},"expect":"allow_with_approval"}
			{"name":"write_query","arguments":{"query":"DROP TABLE t"},"expect":"block"}
			{"name":"list_tables","arguments":{},"expect":"allow"}`,
		"filesystem": `{"name":"read_file","arguments":{"path":"src/a.go"},"expect":"allow"}
			{"name":"read_file","arguments":{"path":"/etc/passwd"},"expect":"block"}
			{"name":"read_multiple_files","arguments":{"paths":["a","../b"]},"expect":"block"}
			{"name":"read_file","arguments":{"path":".env"},"expect":"block"}
			{"name":"read_file","arguments":{"path":"keys/ID.PEM"},"expect":"block"}
			{"name":"move_file","arguments":{"source":"a","destination":"b"},"expect":"allow_with_approval"}
			{"name":"move_file","arguments":{"source":"a","destination":"/tmp/b"},"expect":"block"}
			{"method":"resources/read","name":"file:///etc/passwd","arguments":{"uri":"file:///etc/passwd"},"expect":"block"}
			{"name":"list_allowed_directories","arguments":{},"expect":"allow"}`,
		"git": `{"name":"git_status","arguments":{"repo_path":"/srv/project"},"expect":"allow"}
			{"name":"git_status","arguments":{"repo_path":"/srv/other"},"expect":"block"}
			{"name":"git_push","arguments":{"repo_path":"/srv/project"},"expect":"allow_with_approval"}
			{"name":"git_push","arguments":{"repo_path":"/srv/project","force":true},"expect":"block"}
			{"name":"git_push","arguments":{"repo_path":"/srv/project","args":["--force"]},"expect":"block"}
			{"name":"git_reset","arguments":{"repo_path":"/srv/project"},"expect":"allow_with_approval"}`,
		"sentinel": `{"name":"get_system_health","expect":"allow"}
			{"name":"terminate_process","arguments":{"pid":5},"expect":"log"}
			{"name":"unblock_ip_address","expect":"log"}
			{"name":"disable_firewall","expect":"log"}
			{"name":"send_telemetry_webhook","expect":"allow_with_approval"}`,
	}
	for _, name := range Presets() {
		text, _ := Preset(name)
		set := compile(t, env, text)
		if calls[name] == "" {
			t.Errorf("the preset %s is not tried", name)
		}
		for line := range strings.Lines(calls[name]) {
			checkLine(t, set, line)
		}
	}
}
