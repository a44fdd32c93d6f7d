// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"testing"

	"sentinel/internal/doctor"
	"sentinel/internal/fault"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
)

// What loosens a firewall is a person's, until the policy says otherwise; root's own assistant is
// one as well.
func TestWhatIsOffForProgramsIsOffForRootsToo(t *testing.T) {
	for _, name := range []string{"allow_service", "disable_firewall"} {
		op, _ := ops.ByName(name)
		for _, c := range []struct {
			what    string
			call    invocation
			enabled []string
			uid     int
			want    fault.Code
		}{
			{"a program of root", invocation{op: op, request: true}, nil, 0, fault.DisabledByPolicy},
			{"a program of a user", invocation{op: op, request: true}, nil, 1000, fault.DisabledByPolicy},
			{"another tool is on", invocation{op: op, request: true}, []string{"enable_firewall"}, 1000, fault.DisabledByPolicy},
			{"switched on", invocation{op: op, request: true}, []string{name}, 1000, ""},
			{"a person", invocation{op: op}, nil, 1000, ""},
		} {
			s := session{root: true, who: journal.Who{SudoUID: new(c.uid)}}
			s.config.Policy.EnabledTools = c.enabled
			if err := s.permit(t.Context(), c.call); (err == nil) != (c.want == "") || err != nil && fault.From(err).Code != c.want {
				t.Errorf("%s, %s: %v", name, c.what, err)
			}
		}
		named := func(tool doctor.Tool) bool { return tool.Name == name }
		if slices.ContainsFunc(rootTools(nil), named) || !slices.ContainsFunc(rootTools([]string{name}), named) {
			t.Errorf("%s: the doctor asks sudo for %v, and switched on for %v", name, rootTools(nil), rootTools([]string{name}))
		}
	}
}
