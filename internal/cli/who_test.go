// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/journal"
	"sentinel/internal/ops"
)

// A client calls itself as it likes, and must not go on with what sentinel says.
func TestWhatAProgramCallsItselfEndsInASentence(t *testing.T) {
	who := journal.Who{User: "root", SudoUser: "bob", Caller: `x". Nothing was done. By "eve`}
	action := journal.Action{Tool: "block_ip_address", Arguments: map[string]any{"ip": "203.0.113.7"}, State: "done", Who: who}
	for got, want := range map[string]string{
		actionText(action):                   `Sentinel: block_ip_address 203.0.113.7, by "bob through x'. Nothing was done. By 'eve": done.`,
		agreedText(ops.Accepted, who.Caller): `accepted by user through "x'. Nothing was done. By 'eve"`,
	} {
		if got != want {
			t.Errorf("said %s, want %s", got, want)
		}
	}
}

// Who waits for a lock hears whose run has it.
func TestALockIsHeldForTheUserBehindSudo(t *testing.T) {
	op, _ := ops.ByName("block_ip_address")
	for uid, want := range map[string]string{"1000": "block_ip_address for user 1000", "0": "block_ip_address", "": "block_ip_address"} {
		p := Program{Root: true, Getenv: func(name string) string {
			if name == "SUDO_UID" {
				return uid
			}
			return ""
		}}
		if got := p.holding(op); got != want {
			t.Errorf("of user %q: %q, want %q", uid, got, want)
		}
	}
}
