// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sentinel/internal/blocklist"
)

func TestALiftedBlockWithoutAReasonHasNoneInItsSentence(t *testing.T) {
	for reason, end := range map[string]string{"": ".", "tries passwords": ": tries passwords"} {
		got := formerBlock(blocklist.Row{BlockedBy: "pat", BlockedAt: "2026-11-22T22:07:30Z", Reason: reason})
		if !strings.HasPrefix(got, "It was blocked by pat at ") || !strings.HasSuffix(got, end) || strings.Contains(got, " -") {
			t.Errorf("%q: %q", reason, got)
		}
	}
}
