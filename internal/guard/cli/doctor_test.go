// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// atDoctor gives a test a home with a guard and servers in all states.
func atDoctor(t *testing.T) (home string) {
	t.Helper()
	home = atHome(t, map[string]string{"bin/sentinel-guard": "", "bin/server": "", "bin/open": "", "bin/plain": "", "old/sentinel-guard": "", ".cursor/mcp.json": `{"mcpServers": {`})
	bin := filepath.Join(home, "bin")
	for path, mode := range map[string]os.FileMode{"bin/sentinel-guard": 0o755, "bin/server": 0o755, "bin/open": 0o757, "bin/plain": 0o644, "old/sentinel-guard": 0o755} {
		if err := os.Chmod(filepath.Join(home, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	guardProgram = func() (string, error) { return filepath.Join(bin, "sentinel-guard"), nil }
	t.Setenv("PATH", bin)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	config := strings.NewReplacer("BIN", bin, "OLD", filepath.Join(home, "old")).Replace(`{"mcpServers": {
"bare": {"command": "BIN/server"},
"fine": {"command": "BIN/sentinel-guard", "args": ["run", "--name=fine", "--", "server"]},
"other": {"command": "OLD/sentinel-guard", "args": ["run", "--", "BIN/server"]},
"lost": {"command": "BIN/sentinel-guard", "args": ["run", "--", "BIN/nothing"]},
"plain": {"command": "BIN/sentinel-guard", "args": ["run", "--", "BIN/plain"]},
"open": {"command": "BIN/sentinel-guard", "args": ["run", "--", "BIN/open"]},
"far": {"url": "https://example.org/mcp"},
"off": {"command": "x", "disabled": true},
"evil\u001b[2J; rm": {"command": "$HOME/x"}
}}`)
	if err := os.WriteFile(filepath.Join(home, ".claude.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func diagnosed(t *testing.T, flags ...string) diagnosis {
	t.Helper()
	status, stdout, stderr := run(t, append([]string{"doctor", "--json"}, flags...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || status != 0 || stderr != "" {
		t.Fatalf("status %d, %v: %s%s", status, err, stdout, stderr)
	}
	return d
}

// expect wants a finding of a server that says something and whose fix has something.
func expect(t *testing.T, d diagnosis, id, server, status, value, fix string) {
	t.Helper()
	if !slices.ContainsFunc(d.Checks, func(f finding) bool {
		return f.ID == id && strings.HasPrefix(f.Server, server) && f.Status == status && strings.Contains(f.Value, value) && strings.Contains(f.Fix, fix)
	}) {
		t.Errorf("no %s of %s: %s, %q, %q in %+v", id, server, status, value, fix, d.Checks)
	}
}

func TestDoctorFindsWhatIsWrongWithEntries(t *testing.T) {
	atDoctor(t)
	d := diagnosed(t)
	for _, want := range [][5]string{
		{"entry", "bare", findingWarning, "not behind the guard", "sentinel-guard wrap --client claude-code --server bare"},
		{"program", "bare", findingOK, "is there", ""},
		{"guard", "fine", findingOK, "behind this guard", ""},
		{"program", "fine", findingOK, "server is there", ""},
		{"guard", "other", findingWarning, "behind another guard", "wrap --client claude-code --server other"},
		{"program", "lost", findingProblem, "does not exist", "correct line 5"},
		{"program", "plain", findingProblem, "cannot be run", "correct line 6"},
		{"program", "open", findingProblem, "open: it can be written by others (chmod go-w", "Install the program again"},
		{"entry", "far", findingWarning, "over the network", "remove the entry"},
		{"entry", "off", findingOK, "disabled", ""},
		{"program", "evil", findingUnknown, "completed by the client", "correct line 10"},
		{"configuration", "", findingProblem, "", ""},
		{"rules", "", findingWarning, "no rules", "policy init"},
		{"record", "", findingOK, "can be recorded", ""},
	} {
		expect(t, d, want[0], want[1], want[2], want[3], want[4])
	}
	if d.Problems != 4 || d.Checks[0].Status != findingProblem {
		t.Errorf("%d problems, first %s", d.Problems, d.Checks[0].Status)
	}
	for _, f := range d.Checks {
		if strings.ContainsAny(f.Server+f.Value+f.Fix, "\x1b;") && strings.Contains(f.Fix, "rm") {
			t.Errorf("%+v", f)
		}
	}
}

func TestDoctorLooksAtOneServer(t *testing.T) {
	atDoctor(t)
	for flags, want := range map[string]string{
		"--server plain":                    "program plain, rules , record , record_verifies , guard plain",
		"--client cursor":                   "configuration , rules , record , record_verifies ",
		"--client claude-code --server far": "rules , entry far, record , record_verifies ",
	} {
		var got []string
		for _, f := range diagnosed(t, strings.Fields(flags)...).Checks {
			got = append(got, f.ID+" "+f.Server)
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%s: %s", flags, all)
		}
	}
	for flags, want := range map[string]string{"--server nobody": `has a server named "nobody"`, "--client nobody": "known are claude-desktop", "--client cursor --server plain": `has a server named "plain"`} {
		if status, _, stderr := run(t, append([]string{"doctor"}, strings.Fields(flags)...)...); status != StatusUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d: %s", flags, status, stderr)
		}
	}
}

func TestDoctorJoinsWhatOneCommandCorrects(t *testing.T) {
	var many strings.Builder
	for i := range 12 {
		fmt.Fprintf(&many, `, "s%d": {"command": "/bin/sh"}`, i)
	}
	atHome(t, map[string]string{".claude.json": claudeCode, ".cursor/mcp.json": `{"mcpServers": {"one": {"command": "/bin/sh"}}}`, ".gemini/settings.json": `{"mcpServers": {` + strings.TrimPrefix(many.String(), ", ") + "}}"})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	_, text, _ := run(t, "doctor")
	flat := strings.Join(strings.Fields(text), " ") + " "
	for _, want := range []string{
		"warning claude-code: memory, db in /srv/p are not behind the guard. > sentinel-guard wrap --client claude-code ",
		"warning cursor, one: It is not behind the guard. > sentinel-guard wrap --client cursor --server one ",
		"s8, s9 and 2 more are not behind the guard. > sentinel-guard wrap --client gemini-cli ",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if d := diagnosed(t); d.Warnings < 16 {
		t.Errorf("%d warnings", d.Warnings)
	}
}

func TestDoctorFitsAScreen(t *testing.T) {
	atDoctor(t)
	status, text, _ := run(t, "doctor")
	if status != 0 || !strings.HasPrefix(text, "4 problems, ") || strings.Contains(text, "\x1b") {
		t.Errorf("status %d\n%s", status, text)
	}
	if n := strings.Count(text, "\n"); n > 24 {
		t.Errorf("%d lines", n)
	}
}

func TestDoctorChecksRulesAndRecord(t *testing.T) {
	home := atHome(t, nil)
	recorded(t)
	rules := filepath.Join(home, "rules.yaml")
	t.Setenv("MCP_POLICY_FILE", rules)
	expect(t, diagnosed(t), "rules", "", findingProblem, "rules.yaml", "policy check")
	if err := os.WriteFile(rules, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, diagnosed(t), "rules", "", findingOK, "rules.yaml", "")
	if err := os.Chmod(rules, 0o666); err != nil {
		t.Fatal(err)
	}
	expect(t, diagnosed(t), "rules", "", findingProblem, "written by others", "")
	expect(t, diagnosed(t), "record_verifies", "", findingOK, "what was written", "")
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "sentinel/guard/log/*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(read(t, files[0]), "no-writes", "no-reads", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, diagnosed(t), "record_verifies", "", findingProblem, "not what was written", "sentinel-guard verify")
	if err := os.Chmod(filepath.Dir(files[0]), 0o777); err != nil {
		t.Fatal(err)
	}
	expect(t, diagnosed(t), "record", "", findingProblem, "can be written by others", "XDG_STATE_HOME")
}
