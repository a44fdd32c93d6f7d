// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The failures here are those of other gateways, each with a real client and a real server.

const serverEverything = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// tried has the official client try something at a server behind the guard, and returns the bytes
// that reached the server.
func tried(t *testing.T, what string, env []string, server ...string) (reached []byte) {
	t.Helper()
	dir := t.TempDir()
	if got := inNode(t, env, "guard/known.mjs", append([]string{what}, behind(t, dir+"/outside", dir+"/inside", server)...)...); got != "ok\n" {
		t.Errorf("%s: %s", what, got)
	}
	reached, err := os.ReadFile(dir + "/inside/in")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return reached
}

func TestResultsOfTwelveAndFortyMegabytesArrive(t *testing.T) {
	t.Parallel()
	tried(t, "large", nil, nodeServer(t, "guard/paged.mjs")...)
}

func TestATwinOfANameNeverReachesTheServer(t *testing.T) {
	t.Parallel()
	if reached := tried(t, "name", nil, nodeServer(t, serverEverything)...); bytes.Contains(reached, []byte("tools/call")) || !bytes.Contains(reached, []byte(`"ping"`)) {
		t.Errorf("the server got %s", reached)
	}
}

func TestADuplicateNameIsAnsweredAndTheClientGoesOn(t *testing.T) {
	t.Parallel()
	if reached := tried(t, "duplicate", nil, nodeServer(t, serverEverything)...); bytes.Contains(reached, []byte("tools/call")) || !bytes.Contains(reached, []byte(`"ping"`)) {
		t.Errorf("the server got %s", reached)
	}
}

// With rules that cannot be read nothing is started, and the client is told by the end of the stream.
func TestABrokenPolicyStartsNothing(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(rules, []byte("rules:\n  - {name: r, action: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if reached := tried(t, "broken", []string{"MCP_POLICY_FILE=" + rules}, nodeServer(t, serverEverything)...); len(reached) != 0 {
		t.Errorf("the server was started and got %s", reached)
	}
}
