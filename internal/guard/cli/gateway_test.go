// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sentinel/internal/guard/record"
)

func TestNothingStartsWithoutTheAuditThatIsAskedFor(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(record.AuditVariable, t.TempDir()+"/no/audit.jsonl")
	if status, _, stderr := run(t, "run", "--", "true"); status != StatusUsage || !strings.Contains(stderr, "MCP_AUDIT_LOG") {
		t.Errorf("status %d, %s", status, stderr)
	}
}
