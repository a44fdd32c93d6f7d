// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

// model has a session of ann's from 203.0.113.7 of the caller's or not, and of mallory's from
// 203.0.113.8.
func model(whose sessions.Ownership) *sessions.Model {
	ann, mallory := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	claim := func(s sessions.Session) sessions.Claim { return sessions.Claim{Sessions: []*sessions.Session{&s}} }
	return &sessions.Model{Addresses: map[netip.Addr]sessions.Claim{
		ann:     claim(sessions.Session{User: "ann", From: []netip.Addr{ann}, Whose: whose}),
		mallory: claim(sessions.Session{User: "mallory", From: []netip.Addr{mallory}, Terminal: "pts/1"}),
	}}
}

func TestSessionsOfOthersEndOnlyOnRequest(t *testing.T) {
	for _, c := range []struct {
		address string
		request Request
		whose   sessions.Ownership
		refused string
	}{
		{"203.0.113.8", Request{}, sessions.Own, "203.0.113.8 is the other end of the session of mallory from 203.0.113.8 at pts/1."},
		{"203.0.113.8", Request{EndSession: true}, sessions.Own, ""},
		{"203.0.113.7", Request{EndSession: true}, sessions.Own, "203.0.113.7 is the other end of this call's own session of ann from 203.0.113.7."},
		{"203.0.113.7", Request{EndSession: true}, sessions.PossiblyOwn, "203.0.113.7 is the other end of the session of ann from 203.0.113.7 (which may be this call's own)."},
		{"203.0.113.7", Request{Force: true}, sessions.Own, ""},
		{"203.0.113.9", Request{}, sessions.Own, ""},
	} {
		protected, err := ProtectSessions(model(c.whose))
		l := &List{}
		overruled, err := l.checkAllowed(t.Context(), netip.MustParseAddr(c.address), c.request, depends{protected: protected, unknown: err})
		switch {
		case c.refused == "" && (err != nil || (overruled != nil) != (c.address != "203.0.113.9")):
			t.Errorf("%+v: %v, overruled %+v", c, err, overruled)
		case c.refused != "" && (err == nil || fault.From(err).Code != fault.ProtectedAddress || err.Error() != c.refused):
			t.Errorf("%+v: %v", c, err)
		}
		if c.refused != "" {
			d, ok := fault.From(err).Protects, fault.From(err).Protects != nil
			if !ok || len(d.Sessions) != 1 || !slices.Contains(d.Sessions[0].From, c.address) {
				t.Errorf("%+v: protects %+v", c, fault.From(err).Protects)
			}
		}
		if mentions := err != nil && strings.Contains(fault.From(err).Fix, "--end-session"); mentions != (c.refused != "" && !c.request.EndSession) {
			t.Errorf("%+v: %v", c, fault.From(err).Fix)
		}
	}
}

// Who is asked about a block reads whose session it ends.
func TestASummaryNamesTheSessionThatEnds(t *testing.T) {
	protected, err := ProtectSessions(model(sessions.Own))
	l := &List{}
	for address, want := range map[string]string{
		"203.0.113.8": " It is the other end of the session of mallory from 203.0.113.8 at pts/1, which ends.",
		"203.0.113.7": " It is the other end of this call's own session of ann from 203.0.113.7.",
		"203.0.113.9": "",
	} {
		a := netip.MustParseAddr(address)
		overruled, failed := l.checkAllowed(t.Context(), a, Request{EndSession: true, Force: address == "203.0.113.7"}, depends{protected: protected, unknown: err})
		b := &BlockPlan{entry: entry{Address: a}, overruled: overruled}
		if got := b.despite(); got != want || failed != nil {
			t.Errorf("%s: %q, %v", address, got, failed)
		}
	}
}

// A refusal says that it is not known to be the caller's, and who can tell.
func TestAnAddressBehindAProxyIsRefusedWithItsReason(t *testing.T) {
	stranger := netip.MustParseAddr("203.0.113.66")
	m := model(sessions.Own)
	c := m.Addresses[netip.MustParseAddr("203.0.113.7")]
	c.Sessions[0].Among, c.Among, c.How = 2, 2, "through haproxy (PID 30)"
	m.Addresses[stranger] = c
	protected, err := ProtectSessions(m)
	_, err = (&List{}).checkAllowed(t.Context(), stranger, Request{EndSession: true}, depends{protected: protected, unknown: err})
	want := "203.0.113.66 is one of those connected through haproxy (PID 30), and the sockets of this machine do not tell which of them is the other end of this call's own session of ann from one of 2 hosts."
	if err == nil || fault.From(err).Code != fault.ProtectedAddress || err.Error() != want || !strings.HasPrefix(fault.From(err).Fix, "Refuse it in the proxy itself") {
		t.Errorf("%v; %v", err, fault.From(err).Fix)
	}
}

// What this machine depends on besides, or the administrator has listed, no request for the end of
// a session lifts.
func TestEndOfASessionLiftsNothingElse(t *testing.T) {
	mallory := netip.MustParseAddr("203.0.113.8")
	session, _ := ProtectSessions(model(sessions.Own))
	for name, l := range map[string]*List{"the gateway": {}, "the allowlist": {allow: []netip.Prefix{netip.PrefixFrom(mallory, 32)}}} {
		protected := slices.Clone(session)
		if name == "the gateway" {
			protected = append(protected, Protect(mallory, WhyGateway))
		}
		if _, err := l.checkAllowed(t.Context(), mallory, Request{EndSession: true}, depends{protected: protected}); err == nil {
			t.Errorf("%s may be blocked", name)
		}
	}
}

// Where it is not known what carries the caller's session, any address might.
func TestWhatMayCarryTheOwnSessionIsUnknown(t *testing.T) {
	m := model(sessions.Own)
	m.Gaps = []sessions.Gap{{Why: "nobody knows", Whose: sessions.Others, Trusted: true}, {Why: "a user says so", Whose: sessions.PossiblyOwn}}
	if _, err := ProtectSessions(m); err != nil {
		t.Errorf("of others: %v", err)
	}
	m.Gaps = append(m.Gaps, sessions.Gap{Why: "it is not seen", Whose: sessions.Own})
	if _, err := ProtectSessions(m); err == nil || err.Error() != "it is not seen" {
		t.Errorf("of the caller: %v", err)
	}
}

// What is not seen of sessions refuses nothing, and is said beside the block.
func TestABlockSaysWhichSessionsAreNotSeen(t *testing.T) {
	seen := model(sessions.Own)
	seen.Unseen = []string{"with whom bash (PID 3) is connected is not seen from here"}
	m := newMachine()
	var err error
	if m.protected, err = ProtectSessions(seen); err != nil {
		t.Fatal(err)
	}
	const want = "Sessions may end with it: with whom bash (PID 3) is connected is not seen from here."
	plan, err := m.on(t).PlanBlock(t.Context(), Request{Address: "203.0.113.9"})
	must(t, err)
	if !strings.HasSuffix(plan.Summary(), "cut its open connections. "+want) {
		t.Errorf("who is asked reads %q, want it with %q", plan.Summary(), want)
	}
	d, err := plan.Do(t.Context())
	if err != nil || !slices.Equal(d.Warnings, []string{want}) {
		t.Errorf("%v, %q, want %q", err, d.Warnings, want)
	}
}
