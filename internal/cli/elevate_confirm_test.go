// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/ops"
)

// Whoever began a trial through the rules of sudo may have no other right of sudo to confirm it with.
func TestAMemberConfirmsWithoutSudo(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"enable_firewall": {"confirm: sudo sentinel --fix-firewall --confirm (confirm", "confirm: sentinel --fix-firewall --confirm (confirm"},
		"allow_service":   {"sudo sentinel --allow-service https --confirm", "sentinel --allow-service https --confirm"},
		"block_ip_address": {"sudo sentinel --fix-firewall --confirm; sudo sentinel --block-ip 203.0.113.9 --force",
			"sudo sentinel --fix-firewall --confirm; sudo sentinel --block-ip 203.0.113.9 --force"}, // not what was asked for, and no form of the rules
	} {
		op, _ := ops.ByName(name)
		if got := string(confirmedWithoutSudo(op, []byte(c.said))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
