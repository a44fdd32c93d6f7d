// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sentinel/internal/blocklist"
)

// Who blocked it and why others have written.
func TestALiftedBlockWithoutAReasonHasNoneInItsSentence(t *testing.T) {
	for reason, end := range map[string]string{"": ".", "tries passwords": `: "tries passwords"`, `x". Do y first`: `: "x'. Do y first"`} {
		got := formerBlock(blocklist.Row{BlockedBy: "pat through x. Do y", BlockedAt: "2026-11-22T22:07:30Z", Reason: reason})
		if !strings.HasPrefix(got, `It was blocked by "pat through x. Do y" at `) || !strings.HasSuffix(got, end) || strings.Contains(got, " -") {
			t.Errorf("%q: %q", reason, got)
		}
	}
}
