// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/guard/record"
)

func TestAProofIsCheckedWithoutTheRecord(t *testing.T) {
	recorded(t)
	status, proof, stderr := run(t, "verify", "--proof", "AAAA-1")
	if status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	var p record.Proof
	if err := json.Unmarshal([]byte(proof), &p); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "proof.json")
	for name, c := range map[string]struct {
		proof  string
		args   []string
		status int
		says   string
	}{
		"held":        {proof, []string{"--key", p.Verifier}, 0, "POLICY_BLOCKED"},
		"no key":      {proof, nil, 0, "Compare who signed, or give --key: " + p.Verifier},
		"JSON":        {proof, []string{"--json"}, 0, `"rule": "no-writes"`},
		"changed":     {strings.Replace(proof, "no-writes", "all-reads", 1), nil, StatusFound, "not what was signed"},
		"another key": {proof, []string{"--key", "sentinel-guard+7b1b3c7a+AQ"}, StatusUnjudged, "key"},
		"empty key":   {proof, []string{"--key", ""}, StatusUsage, "an empty one would be any"},
		"no proof":    {"x", nil, StatusUnjudged, "this is no proof"},
	} {
		if err := os.WriteFile(file, []byte(c.proof), 0o600); err != nil {
			t.Fatal(err)
		}
		status, text, stderr := run(t, append([]string{"verify", "--check", file}, c.args...)...)
		if status != c.status || !strings.Contains(text+stderr, c.says) {
			t.Errorf("%s: status %d\n%s%s", name, status, text, stderr)
		}
	}
}

func TestThereIsNoProofOfWhatIsNotRecorded(t *testing.T) {
	recorded(t)
	if status, text, stderr := run(t, "verify", "--proof", "ZZZZ-1"); status != StatusUsage || text != "" || !strings.Contains(stderr, "no such line") {
		t.Errorf("status %d, %s%s", status, text, stderr)
	}
}
