// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const teamFile = `{
  "mcpServers": {
    "shared-db": {"command": "npx", "args": ["-y", "db"]},
    "far": {"type": "http", "url": "https://example.org/mcp"}
  }
}
`

// inTeam gives a test a home, and a project in it that shares servers, in a folder of which one works.
func inTeam(t *testing.T, files map[string]string) (home, project string) {
	t.Helper()
	files[".claude.json"] = `{"mcpServers": {"own": {"command": "x"}}}`
	files["p/src/keep"] = ""
	home = atHome(t, files)
	workingFolder = func() (string, error) { return filepath.Join(home, "p", "src"), nil }
	return home, filepath.Join(home, "p")
}

// What a team shares is named, and changed only on demand.
func TestFilesOfAProjectAreChangedOnDemandAlone(t *testing.T) {
	home, project := inTeam(t, map[string]string{".config/Code/x": "", "p/.mcp.json": teamFile, "p/.vscode/mcp.json": "{\"servers\": {\"v\": {\"command\": \"y\",},}, // all\n}", "p/.gemini/settings.json": `{"theme": "dark"}`})
	mine, team, code := filepath.Join(home, ".claude.json"), filepath.Join(project, ".mcp.json"), filepath.Join(project, ".vscode/mcp.json")
	own, ofCode := read(t, mine), read(t, code)
	step := func(args string, want ...string) {
		t.Helper()
		status, stdout, stderr := run(t, strings.Fields(args)...)
		flat := strings.Join(strings.Fields(stdout), " ")
		for _, w := range want {
			if status != 0 || stderr != "" || !strings.Contains(flat, w) {
				t.Errorf("%s: status %d, no %q in\n%s%s", args, status, w, stdout, stderr)
			}
		}
		if strings.Contains(stdout, "gemini") {
			t.Errorf("%s names a file without servers: %s", args, stdout)
		}
		for line := range strings.Lines(strings.ReplaceAll(stdout, home, "/home/a")) {
			if len([]rune(line)) > width+1 {
				t.Errorf("%s: a line of more than %d columns: %s", args, width, line)
			}
		}
	}
	step("wrap --all --dry-run", "Claude Code: "+team, "shared-db (line 3): not wrapped", "far (line 4): not wrapped: it is reached over the network", "sentinel-guard wrap --client claude-code --project", "sentinel-guard wrap --client vscode --project")
	step("wrap --all", "own (line 1): wrapped", "shared-db (line 3): not wrapped")
	if read(t, mine) == own || read(t, team) != teamFile || read(t, code) != ofCode {
		t.Fatalf("%s\n%s", read(t, mine), read(t, team))
	}
	step("wrap --client claude-code --server shared-db", "shared-db (line 3): not wrapped")
	step("wrap --client claude-code --project", "shared-db (line 3): wrapped", "needs sentinel-guard in the PATH", "Start claude again")
	wrapped := read(t, team)
	if !strings.Contains(wrapped, `{"command": "sentinel-guard", "args": ["run", "--name=shared-db", "--", "npx", "-y", "db"]}`) || read(t, code) != ofCode {
		t.Fatal(wrapped)
	}
	step("wrap --client claude-code --project", "shared-db (line 3): wrapped already")
	if read(t, team) != wrapped {
		t.Error("a second time is not the first")
	}
	step("unwrap --all", "own (line 1): unwrapped", "shared-db (line 3): still wrapped", "sentinel-guard unwrap --client claude-code --project")
	if read(t, mine) != own || read(t, team) != wrapped {
		t.Errorf("%s\n%s", read(t, mine), read(t, team))
	}
	step("wrap --all --project", "v (line 1): wrapped")
	step("unwrap --all --project", "shared-db (line 3): unwrapped", "v (line 1): unwrapped")
	if read(t, mine) != own || read(t, team) != teamFile || read(t, code) != ofCode {
		t.Errorf("unwrapped is not as before:\n%s\n%s", read(t, team), read(t, code))
	}
	workingFolder = func() (string, error) { return home, nil }
	step("wrap --all --project", "No client has servers in a file of this folder")
}

// The file of a project is whoever's it is: that it cannot be read fails only what was to change it.
func TestAProjectThatCannotBeReadIsNamed(t *testing.T) {
	_, project := inTeam(t, map[string]string{"p/.mcp.json": `{"mcpServers": {`})
	for args, want := range map[string]int{"wrap --all": 0, "unwrap --all": 0, "wrap --all --project": StatusUnjudged, "unwrap --client claude-code --project": StatusUnjudged} {
		status, stdout, _ := run(t, strings.Fields(args)...)
		if flat := strings.Join(strings.Fields(stdout), " "); status != want || !strings.Contains(flat, filepath.Join(project, ".mcp.json")+" is left as it is") {
			t.Errorf("%s: status %d\n%s", args, status, stdout)
		}
	}
	expect(t, diagnosed(t), "configuration", "", findingUnknown, "is left as it is", "")
}

// That somebody else's client has a file is of no interest, unless one asks for it.
func TestFilesOfClientsThatAreNotHereAreLeftOut(t *testing.T) {
	_, project := inTeam(t, map[string]string{"p/.cursor/mcp.json": `{"mcpServers": {"theirs": {"command": "x"}}}`})
	for _, args := range []string{"status --json", "doctor --json", "wrap --all --dry-run"} {
		if status, stdout, _ := run(t, strings.Fields(args)...); status != 0 || strings.Contains(stdout, "theirs") {
			t.Errorf("%s: status %d\n%s", args, status, stdout)
		}
	}
	for _, args := range []string{"wrap --client cursor", "wrap --client cursor --project --dry-run", "wrap --all --project"} {
		if status, stdout, _ := run(t, strings.Fields(args)...); status != 0 || !strings.Contains(stdout, "theirs") {
			t.Errorf("%s: status %d\n%s", args, status, stdout)
		}
	}
	if text := read(t, filepath.Join(project, ".cursor/mcp.json")); !strings.Contains(text, `"sentinel-guard"`) {
		t.Error(text)
	}
}

func TestDoctorAndStatusNameServersOfTheProject(t *testing.T) {
	_, project := inTeam(t, map[string]string{"p/.mcp.json": teamFile})
	d := diagnosed(t)
	expect(t, d, "entry", "shared-db", findingWarning, "shares its file", "sentinel-guard wrap --client claude-code --server shared-db --project")
	expect(t, d, "entry", "far", findingWarning, "over the network", "")
	for _, f := range d.Checks {
		if f.Server == "shared-db" && f.Project != project {
			t.Errorf("%+v", f)
		}
	}
	s := statusNow(t)
	if len(s.Entries) != 3 || s.Entries[1] != (statusEntry{"claude-code", "shared-db", project, true, false, ""}) || s.Entries[0].Shared {
		t.Errorf("%+v", s.Entries)
	}
	if _, text, _ := run(t, "status"); !strings.Contains(text, "claude-code     shared-db in ") {
		t.Error(text)
	}
	run(t, "wrap", "--client", "claude-code", "--project")
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	expect(t, diagnosed(t), "guard", "shared-db", findingWarning, "not in the PATH here", "first sentinel-guard in its PATH")
	own := filepath.Join(bin, "sentinel-guard")
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	guardProgram = func() (string, error) { return own, nil }
	expect(t, diagnosed(t), "guard", "shared-db", findingOK, "behind this guard", "")
	if err := os.Remove(filepath.Join(project, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if s := statusNow(t); len(s.Entries) != 1 {
		t.Errorf("%+v", s.Entries)
	}
}
