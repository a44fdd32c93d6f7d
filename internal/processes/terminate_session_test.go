// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

// Of what is cut the end goes first, and where a process has mounted something its user has chosen.
func TestSessionThatEndsIsToldBeforeMountPoints(t *testing.T) {
	s := &sessions.Session{User: "mallory", From: []netip.Addr{netip.MustParseAddr("203.0.113.8")}, Whose: sessions.Others}
	v := &victim{facts: []Facts{{Name: "ttyd", Start: "1.2", Served: []Served{{Point: "/home/mallory/a"}}}}, endsBy: SignalKill}
	v.model = &sessions.Model{Processes: map[int]sessions.Claim{4242: {Sessions: []*sessions.Session{s}}}}
	p, err := PlanTermination(t.Context(), v, Target{PID: 4242, EndSession: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const want = `"ttyd" (PID 4242) would be sent SIGKILL. It carries the session of mallory from 203.0.113.8, which ends. It serves what is mounted at "/home/mallory/a", which cannot be used without it.`
	if got := p.Summary(); got != want {
		t.Errorf("%s", got)
	}
}

// A process of root's that carries a session of mallory's may end on request alone, and one that may
// carry the caller's own never.
func TestProcessesThatCarrySessions(t *testing.T) {
	const pid = 4242
	for name, c := range map[string]struct {
		claim   sessions.Claim
		whose   sessions.Ownership
		end     bool
		refused string
		summary string
	}{
		"another's":                                   {sessions.Claim{}, sessions.Others, false, "it carries the session of mallory from 203.0.113.8", ""},
		"another's, on request":                       {sessions.Claim{}, sessions.Others, true, "", " It carries the session of mallory from 203.0.113.8, which ends."},
		"the caller's":                                {sessions.Claim{}, sessions.Own, true, "it carries this call's own session of mallory", ""},
		"possibly the caller's":                       {sessions.Claim{}, sessions.PossiblyOwn, true, "(which may be this call's own)", ""},
		"takes logins":                                {sessions.Claim{Listens: true}, sessions.Others, true, "people log in through it", ""},
		"a user's that listens":                       {sessions.Claim{Listens: true, Untrusted: true}, sessions.Others, false, "people log in through it", ""},
		"a user's that listens, on request":           {sessions.Claim{Listens: true, Untrusted: true}, sessions.Others, true, "", " People log in through it, as in the session of mallory from 203.0.113.8."},
		"a user's that let the caller in, on request": {sessions.Claim{Listens: true, Untrusted: true}, sessions.Own, true, "", " People log in through it, as in this call's own session of mallory from 203.0.113.8."},
		"shows its terminals":                         {sessions.Claim{Shown: some}, sessions.Own, false, "it serves terminals that are shown in this call's own session of mallory", ""},
		"shows its terminals, on request":             {sessions.Claim{Shown: some}, sessions.Own, true, "", " It serves terminals that are shown in this call's own session of mallory from 203.0.113.8, and what runs there ends."},
	} {
		s := &sessions.Session{User: "mallory", From: []netip.Addr{netip.MustParseAddr("203.0.113.8")}, Whose: c.whose}
		v := &victim{facts: []Facts{{Name: "ttyd", Start: "1.2"}}, endsBy: SignalKill}
		if c.claim.Sessions = []*sessions.Session{s}; c.claim.Shown != nil {
			c.claim.Shown = c.claim.Sessions
		}
		v.model = &sessions.Model{Processes: map[int]sessions.Claim{pid: c.claim}}
		p, err := PlanTermination(t.Context(), v, Target{PID: pid, EndSession: c.end}, nil)
		switch {
		case err == nil && !strings.HasSuffix(p.Summary(), cmp.Or(c.summary, "nothing")):
			t.Errorf("%s: %s", name, p.Summary())
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refused != "" && (err == nil || fault.From(err).Code != fault.ProtectedProcess || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v", name, err)
		case c.refused != "":
			if d := fault.From(err).Protects; d == nil || len(d.Sessions) != 1 || d.Sessions[0].User != "mallory" {
				t.Errorf("%s: protects %+v", name, fault.From(err).Protects)
			}
		}
		if _, err := PlanTermination(t.Context(), v, Target{PID: pid, Force: true}, nil); err != nil {
			t.Errorf("%s, by force: %v", name, err)
		}
	}
	v := &victim{facts: []Facts{{Name: "ttyd", Start: "1.2"}}, modelErr: errors.New("too many")}
	if _, err := PlanTermination(t.Context(), v, Target{PID: pid}, nil); err == nil || fault.From(err).Code != fault.Unavailable {
		t.Errorf("without a model: %v", err)
	}
}

// Where the caller's own session may be carried by what was not looked at, only force ends what is not surely
// somebody else's.
func TestWhatMayCarryAHiddenSession(t *testing.T) {
	others := sessions.Claim{Sessions: []*sessions.Session{{User: "mallory"}}}
	hidden := sessions.Gap{Why: "who holds it is not known", Whose: sessions.Own, Skipped: &sessions.SkippedError{Users: []int{33, 0}}}
	harmless := hidden
	harmless.Skipped = nil
	for name, c := range map[string]struct {
		gap     sessions.Gap
		uid     int
		claim   *sessions.Claim
		refused bool
	}{
		"root's":                            {hidden, 0, nil, true},
		"a service's":                       {hidden, 109, nil, true},
		"with a session of another":         {hidden, 109, &others, true},
		"of who has too much open":          {hidden, 33, nil, false},
		"a person's":                        {hidden, 1000, nil, false},
		"nobody's":                          {hidden, nobody, nil, true},
		"where all was looked at":           {harmless, 0, nil, false},
		"where others' sessions are hidden": {sessions.Gap{Skipped: hidden.Skipped}, 0, nil, false},
	} {
		v := &victim{facts: []Facts{{Name: "haproxy", Start: "1.2", UserID: c.uid}}, endsBy: SignalKill}
		v.model = &sessions.Model{Gaps: []sessions.Gap{c.gap}, Processes: map[int]sessions.Claim{}}
		if c.claim != nil {
			v.model.Processes[4242] = *c.claim
		}
		_, err := PlanTermination(t.Context(), v, Target{PID: 4242, EndSession: true}, nil)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (fault.From(err).Code != fault.Unavailable || !strings.Contains(err.Error(), hidden.Why)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := PlanTermination(t.Context(), v, Target{PID: 4242, Force: true}, nil); err != nil {
			t.Errorf("%s, by force: %v", name, err)
		}
	}
}
