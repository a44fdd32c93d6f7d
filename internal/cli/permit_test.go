// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"testing"
	"time"

	"sentinel/internal/config"
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

// What the policy takes from models, no account gives them back: not that of a user for whom nothing takes
// sudo, and not root's. What is typed is not limited, but behind sudo.
func TestThePolicyHoldsForEveryProgram(t *testing.T) {
	program, person := true, false
	for _, c := range []struct {
		who     journal.Who
		root    bool
		request bool
		refused bool
	}{
		{journal.Who{UID: 1000}, false, program, true},
		{journal.Who{}, true, program, true},
		{journal.Who{SudoUID: new(1000)}, true, program, true},
		{journal.Who{SudoUID: new(1000)}, true, person, true},
		{journal.Who{UID: 1000}, false, person, false},
		{journal.Who{}, true, person, false},
		{journal.Who{SudoUID: new(0)}, true, person, false},
	} {
		s := session{root: c.root, who: c.who}
		s.config.Policy = config.Policy{ReadOnly: true, DisabledTools: []string{"dns_lookup", "get_asset_info"}}
		for tool, off := range map[string]bool{"dns_lookup": true, "get_asset_info": true, "send_telemetry_webhook": true, "get_top_processes": false} {
			op, _ := ops.ByName(tool)
			err := s.permit(t.Context(), invocation{op: op, request: c.request})
			if want := c.refused && off; (err != nil) != want || want && fault.From(err).Code != fault.DisabledByPolicy {
				t.Errorf("%s for %+v, a program: %v: %v", tool, c.who, c.request, err)
			}
		}
	}
}

// Whoever is limited can fill the journal, which forgets its oldest records, only slowly, and without
// using up what others may do.
func TestNobodyFillsTheJournalWithinDays(t *testing.T) {
	eve, other := 1000, 1001
	limits := session{who: journal.Who{SudoUID: &eve}}.dayLimit()
	if limits.Most != 2000 || limits.Within != 24*time.Hour {
		t.Errorf("%d within %v", limits.Most, limits.Within)
	}
	for _, c := range []struct {
		who  *journal.Who
		want bool
	}{{&journal.Who{SudoUID: &eve}, true}, {&journal.Who{SudoUID: &other}, false}, {&journal.Who{UID: eve}, false}, {nil, false}} {
		if got := limits.Counts(journal.Record{Tool: "unblock_ip_address", Who: c.who}); got != c.want {
			t.Errorf("%+v counts: %v", c.who, got)
		}
	}
	for _, who := range []journal.Who{{}, {SudoUID: new(0)}} {
		if limit := (session{who: who}).dayLimit(); limit != nil {
			t.Errorf("%+v has a limit", who)
		}
	}
}
