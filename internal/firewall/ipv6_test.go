// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

var noIPv6 = Ruling{Verdict: Denied, Rule: "without IPV6=yes it drops all packets of IPv6", Fix: "Set IPV6=yes."}

// withoutIPv6 is a machine with addresses whose manager shuts out IPv6.
func withoutIPv6(addresses ...string) *machine {
	m := newMachine()
	m.ipv6 = noIPv6
	l := Link{Index: 2, Name: "eth0"}
	for _, a := range addresses {
		l.Addresses = append(l.Addresses, netip.MustParseAddr(a))
	}
	m.facts.Links = []Link{l}
	return m
}

// sessionFrom is a session of ann, who came in at port 22.
func sessionFrom(address string, whose sessions.Ownership) func(context.Context) (*sessions.Model, error) {
	s := &sessions.Session{User: "ann", From: []netip.Addr{netip.MustParseAddr(address)}, Whose: whose}
	m := &sessions.Model{Sessions: []*sessions.Session{s}, Ports: map[sessions.Port]sessions.Claim{{Protocol: "tcp", Number: 22}: {Sessions: []*sessions.Session{s}}}}
	return func(context.Context) (*sessions.Model, error) { return m, nil }
}

func TestSessionsOverIPv6AreNotShutOut(t *testing.T) {
	for name, c := range map[string]struct {
		from    string
		whose   sessions.Ownership
		server  int // the user who listens
		refused bool
	}{
		"IPv6":                          {"2001:db8::2", sessions.Others, 0, true},
		"link-local":                    {"fe80::2", sessions.Others, 0, true},
		"IPv4":                          {"203.0.113.7", sessions.Own, 0, false},
		"IPv4, mapped":                  {"::ffff:203.0.113.7", sessions.Own, 0, false},
		"at the server of a user":       {"2001:db8::2", sessions.Others, 1000, false},
		"own, at the server of a user":  {"2001:db8::2", sessions.Own, 1000, true},
		"perhaps own, of another's too": {"2001:db8::2", sessions.PossiblyOwn, 1000, false},
	} {
		m := withoutIPv6("192.0.2.1", "2001:db8::1")
		m.open.Servers = map[Port]int{tcp(22): c.server}
		e, err := PlanEnable(t.Context(), m, m, EnableOptions{Sessions: sessionFrom(c.from, c.whose)})
		if !c.refused {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if want := " ufw shuts out IPv6: without IPV6=yes it drops all packets of IPv6."; !strings.Contains(e.Summary(), want) {
				t.Errorf("%s: %s", name, e.Summary())
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: not refused", name)
			continue
		}
		f := fault.From(err)
		if f.Code != fault.FirewallFailed || !strings.HasPrefix(f.Message, "Once it is on, ufw shuts out ") || !strings.Contains(f.Message, "session of ann from "+c.from) || !strings.HasSuffix(f.Message, ": "+noIPv6.Rule+".") || !strings.HasPrefix(f.Fix, noIPv6.Fix) {
			t.Errorf("%s: %v, %s", name, err, f.Fix)
		}
		m.ipv6 = Ruling{}
		if _, err := PlanEnable(t.Context(), m, m, EnableOptions{Sessions: sessionFrom(c.from, c.whose)}); err != nil {
			t.Errorf("%s, with rules for IPv6: %v", name, err)
		}
	}
}

func TestForceShutsOutSessionsOverIPv6AndSaysSo(t *testing.T) {
	m := withoutIPv6("192.0.2.1", "2001:db8::1")
	got, err := plan(t, m, EnableOptions{Force: true, Sessions: sessionFrom("2001:db8::2", sessions.Own)}).Do(t.Context())
	if want := "As its rules stand, ufw shuts out this call's own session of ann from 2001:db8::2: " + noIPv6.Rule; err != nil || !strings.Contains(got.Details, want) {
		t.Errorf("%s, %v", got.Details, err)
	}
}

func TestIPv6ThatIsShutOutMeanwhileIsTakenBack(t *testing.T) {
	m := withoutIPv6("192.0.2.1", "2001:db8::1")
	m.ipv6, m.open.Servers = Ruling{}, map[Port]int{tcp(22): 0}
	m.during = func() { m.ipv6 = noIPv6 }
	_, err := plan(t, m, EnableOptions{Sessions: sessionFrom("2001:db8::2", sessions.Others)}).Do(t.Context())
	if err == nil || fault.From(err).Code != fault.FirewallFailed || !strings.Contains(err.Error(), noIPv6.Rule) || !slices.Contains(m.done, "undo") {
		t.Errorf("%v, did %q", err, m.done)
	}
}

func TestWhatIPv6AloneLeadsToIsClosed(t *testing.T) {
	m := withoutIPv6("192.0.2.1", "2001:db8::1")
	m.open.OnlyIPv6 = []Port{tcp(80)} // which the rules let in
	e := plan(t, m, EnableOptions{})
	has := func(list []Listener) bool {
		return slices.ContainsFunc(list, func(l Listener) bool { return l.Port == tcp(80) })
	}
	if p := e.Preview(); !has(p.Closes) || has(p.StaysOpen) {
		t.Errorf("closes %v, stays open %v", p.Closes, p.StaysOpen)
	}
	for name, p := range map[string]Port{"of sessions": tcp(2222), "kept open": tcp(80)} {
		m.open.OnlyIPv6 = []Port{p}
		_, err := PlanEnable(t.Context(), m, m, EnableOptions{KeepOpen: []Port{tcp(80)}})
		if err == nil {
			t.Errorf("a port %s: not refused", name)
		} else if f := fault.From(err); f.Code != fault.FirewallFailed || !strings.HasSuffix(f.Message, p.String()+": "+noIPv6.Rule+".") {
			t.Errorf("a port %s: %v", name, err)
		}
	}
}

func TestAddressesTellWhatIPv6Carries(t *testing.T) {
	for name, c := range map[string]struct {
		addresses     []string
		refused, said bool
	}{
		"both":            {[]string{"192.0.2.1", "2001:db8::1"}, false, true},
		"IPv6 alone":      {[]string{"2001:db8::1", "fe80::1"}, true, true},
		"IPv6 not in use": {[]string{"192.0.2.1", "fe80::1"}, false, false},
		"IPv6 is off":     {[]string{"192.0.2.1"}, false, false},
		"no network yet":  {[]string{"fe80::1"}, false, false},
		"not known":       {nil, false, false},
	} {
		m := withoutIPv6(c.addresses...)
		e, err := PlanEnable(t.Context(), m, m, EnableOptions{})
		if (err != nil) != c.refused || err == nil && strings.Contains(e.Summary(), "shuts out IPv6") != c.said {
			t.Errorf("%s: %v", name, err)
		}
	}
}
