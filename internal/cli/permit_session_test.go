// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// A program ends no session of others before the administrator has allowed it; a person may.
func TestProgramsEndSessionsOnlyWhereThePolicySaysSo(t *testing.T) {
	for _, name := range []string{"block_ip_address", "terminate_process"} {
		op, _ := ops.ByName(name)
		for _, c := range []struct{ request, asks, allowed, want bool }{
			{true, true, false, false}, {true, true, true, true}, {true, false, false, true}, {false, true, false, true},
		} {
			s := session{config: config.Default(), root: true}
			s.config.Policy.EndSessions = c.allowed
			err := s.permit(t.Context(), invocation{op: op, request: c.request, args: ops.Arguments{"end_session": c.asks}})
			if (err == nil) != c.want || err != nil && fault.From(err).Code != fault.DisabledByPolicy {
				t.Errorf("%s, %+v: %v", name, c, err)
			}
		}
	}
}
