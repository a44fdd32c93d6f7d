// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withRules has the guards of a test read these rules as the user's own.
func withRules(t *testing.T, rules string) {
	t.Helper()
	config := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", config)
	if err := os.Mkdir(filepath.Join(config, "sentinel"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "sentinel", "guard.yaml"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
}

const printsVariables = `echo "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[\"$GIVEN_BY_CLIENT,$NAMED_TOKEN,$LC_TEST,$LC_TEST_KEY,${PATH:+path}\"]}"; cat >/dev/null`

func TestTheServerGetsTheVariablesThatTheRulesLeave(t *testing.T) {
	t.Setenv("NAMED_TOKEN", "named")
	t.Setenv("LC_TEST", "locale")
	t.Setenv("LC_TEST_KEY", "hidden value")
	for rules, want := range map[string]string{
		"environment: inherit": "yes,named,locale,hidden value,path", "": "yes,named,locale,hidden value,path", "environment: minimal": ",named,locale,,path",
	} {
		withRules(t, rules)
		p := start(t, "run", "--env=NAMED_TOKEN", "--env", "NOT_THERE", "--", "sh", "-c", printsVariables)
		if got := p.line(); got != `{"jsonrpc":"2.0","method":"x","params":["`+want+`"]}` {
			t.Errorf("%q: %s", rules, got)
		}
		p.in.Close()
		p.status()
		said, minimal := p.said(), rules == "environment: minimal"
		if (strings.Count(said, "GIVEN_BY_CLIENT") == 1 && strings.Contains(said, "LC_TEST_KEY")) != minimal || strings.Contains(said, "hidden value") {
			t.Errorf("%q: %s", rules, said)
		}
	}
}

func TestAPresetHoldsBesideTheFiles(t *testing.T) {
	withRules(t, "")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_telemetry_webhook","arguments":{}}}`
	p := start(t, "run", "--preset=sentinel", "--", "cat")
	p.send(call)
	if got := p.line(); !strings.Contains(got, "NO_APPROVER") {
		t.Error(got)
	}
	p.in.Close()
	p.status()
	for arg, want := range map[string]string{"--preset=nothing": `there is no preset "nothing"`, "--env=A=b": "takes the name of a variable"} {
		p := start(t, "run", arg, "--", "cat")
		if status := p.status(); status != 70 && status != 2 || !strings.Contains(p.said(), want) {
			t.Errorf("%s: status %d\n%s", arg, status, p.said())
		}
	}
}
