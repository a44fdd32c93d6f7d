// SPDX-License-Identifier: Apache-2.0

package audittest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sentinel/internal/audit"
)

// Nasty is a text that could harm its reader: it has terminal escapes, invisible
// and bidirectional characters, shell commands, and a byte that is not UTF-8.
const Nasty = "x\x1b]0;owned\x07\u202e\u200b$(reboot)`id`\xff"

// Huge creates a sparse file of 1 TiB.
func Huge(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written to it
	return f.Truncate(1 << 40)
}

// Safe checks that the report on a machine with [Nasty] texts shows them with the
// harmful characters replaced, and never in a command to type.
func Safe(t *testing.T, r audit.Report) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\\u001b", "\\u0007", "\\u202e", "\\u200b", "\u202e", "\u200b", "\x1b"} {
		if strings.Contains(string(raw), bad) {
			t.Errorf("the answer holds %q", bad)
		}
	}
	if !strings.Contains(string(raw), "owned") {
		t.Error("the hostile texts did not come through: the test shows nothing")
	}
	for _, c := range r.Checks {
		if strings.Contains(c.Fix, "$(reboot)") {
			t.Errorf("%s: text of the machine in a fix: %s", c.ID, c.Fix)
		}
	}
}

// StaysShort checks that a default answer is short and has every check, however
// many fail.
func StaysShort(t *testing.T, machines []string, checksOf func(machine string) []audit.Check) {
	t.Helper()
	for _, name := range machines {
		r, err := audit.Run(t.Context(), list(checksOf(name)), audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(r)
		if err != nil || len(raw) > 19_000 || len(r.Checks) != r.ChecksTotal {
			t.Errorf("%s: %d bytes, %d checks of %d, %v", name, len(raw), len(r.Checks), r.ChecksTotal, err)
		}
		t.Logf("%s: %s, score %d, coverage %.2f, %d bytes, truncated %v", name, r.Overall, r.Score, r.Coverage, len(raw), r.Truncated)
	}
}

type list []audit.Check

// Checks implements [audit.Source].
func (l list) Checks() []audit.Check { return l }
