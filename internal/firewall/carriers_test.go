// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

// carried is what carries one session of somebody else.
func carried(gaps []sessions.Gap, ports ...sessions.Port) func(context.Context) (*sessions.Model, error) {
	ann := &sessions.Session{User: "ann", From: []netip.Addr{netip.MustParseAddr("203.0.113.7")}}
	m := &sessions.Model{Sessions: []*sessions.Session{ann}, Ports: map[sessions.Port]sessions.Claim{}, Gaps: gaps}
	for _, p := range ports {
		m.Ports[p] = sessions.Claim{Sessions: []*sessions.Session{ann}, How: "through relay (PID 12)"}
	}
	return func(context.Context) (*sessions.Model, error) { return m, nil }
}

func TestPortsOfSessionsStayOpen(t *testing.T) {
	m := newMachine()
	gaps := []sessions.Gap{{Why: "what x has open is not known", Whose: sessions.Own}, {Why: "somebody else's", Whose: sessions.Others}}
	e := plan(t, m, EnableOptions{Sessions: carried(gaps, sessions.Port{Protocol: "tcp", Number: 22}, sessions.Port{Protocol: "udp", Number: 4789}, sessions.Port{Protocol: "tcp", Number: 443})})
	got, err := e.Do(t.Context())
	if want := []Port{tcp(22), tcp(443), tcp(2222), {4789, "udp"}}; err != nil || !slices.Equal(got.AllowedPorts, want) {
		t.Errorf("let in %v, want %v, %v", got.AllowedPorts, want, err)
	}
	for _, want := range []string{
		"443/tcp carries the session of ann from 203.0.113.7, through relay (PID 12); 4789/udp carries the session of ann",
		"Not all that carries sessions is known: what x has open is not known.",
	} {
		if !strings.Contains(got.Details, want) {
			t.Errorf("details %q, without %q", got.Details, want)
		}
	}
	if strings.Contains(got.Details, "22/tcp carries") || strings.Contains(got.Details, "somebody else") {
		t.Errorf("details %q", got.Details)
	}
}

// A session in a container may come in at a port that nothing here tells.
func TestSessionsThatAreNotSeenAreSaid(t *testing.T) {
	find := func(context.Context) (*sessions.Model, error) {
		return &sessions.Model{Unseen: []string{"with whom bash (PID 3) is connected is not seen from here"}}, nil
	}
	m := newMachine()
	got, err := plan(t, m, EnableOptions{Sessions: find}).Do(t.Context())
	if want := "Not all that carries sessions is known: with whom bash (PID 3) is connected is not seen from here."; err != nil || !strings.Contains(got.Details, want) {
		t.Errorf("%q, %v", got.Details, err)
	}
}

func TestSessionsThatAreNotKnownAreAReasonToRefuse(t *testing.T) {
	m := newMachine()
	find := func(context.Context) (*sessions.Model, error) { return nil, errors.New("no process table") }
	_, err := PlanEnable(t.Context(), m, m, EnableOptions{Sessions: find})
	if fault.From(err).Code != fault.Unavailable || !strings.Contains(err.Error(), "no process table") {
		t.Errorf("%v", err)
	}
	if got, err := plan(t, m, EnableOptions{Sessions: find, Force: true}).Do(t.Context()); err != nil || !strings.Contains(got.Details, "no process table") {
		t.Errorf("forced: %+v, %v", got, err)
	}
}

// Protocols without ports are let in by the own rules, and by ufw and firewalld only if their owner
// says so.
func TestTunnelsWithoutPorts(t *testing.T) {
	gre := carried(nil, sessions.Port{Protocol: "gre"})
	own := newMachine()
	own.name = Nftables
	got, err := plan(t, own, EnableOptions{Sessions: gre}).Do(t.Context())
	if err != nil || !slices.Equal(got.AllowedProtocols, []string{"gre"}) || !slices.Contains(own.done, "enable [gre 22/tcp 2222/tcp]") || slices.Contains(got.AllowedPorts, Port{Protocol: "gre"}) {
		t.Errorf("%+v, did %q, %v", got, own.done, err)
	}
	for name, fix := range map[string]string{UFW: "sudo ufw allow proto gre to any", Firewalld: "sudo firewall-cmd --permanent --add-protocol=gre"} {
		m := newMachine()
		m.name = name
		_, err := PlanEnable(t.Context(), m, m, EnableOptions{Sessions: gre})
		if f := fault.From(err); f.Code != fault.FirewallFailed || !strings.Contains(f.Fix, fix) || !strings.Contains(f.Message, "gre") {
			t.Errorf("%s: %v, %s", name, err, f.Fix)
		}
		got, err := plan(t, m, EnableOptions{Sessions: gre, Force: true}).Do(t.Context())
		if err != nil || got.AllowedProtocols != nil || !strings.Contains(got.Details, "shuts out the protocol gre") {
			t.Errorf("%s, forced: %+v, %v", name, got, err)
		}
		m = newMachine()
		m.name, m.skipped = name, []string{"allow from any proto gre"}
		if got, err := plan(t, m, EnableOptions{Sessions: gre}).Do(t.Context()); err != nil || strings.Contains(got.Details, "shuts out") {
			t.Errorf("%s, named: %+v, %v", name, got, err)
		}
	}
}

func TestOpeningsAreParsed(t *testing.T) {
	for text, want := range map[string]Port{"gre": {Protocol: "gre"}, "22/tcp": tcp(22), "esp": {Protocol: "esp"}} {
		if got, err := ParseOpening(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "icmp", "47", "gre/gre", "0/gre", "22"} {
		if got, err := ParseOpening(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// What routers and machines that stand in for each other send to each other is let in as a tunnel is.
func TestProtocolsThatTheSystemReceives(t *testing.T) {
	protocols := []Port{{Protocol: "ospf"}, {Protocol: "protocol-200"}}
	own := newMachine()
	own.name, own.open.Protocols = Nftables, protocols
	got, err := plan(t, own, EnableOptions{}).Do(t.Context())
	if err != nil || !slices.Equal(got.AllowedProtocols, []string{"ospf", "protocol-200"}) || !slices.Contains(own.done, "enable [22/tcp 2222/tcp ospf protocol-200]") {
		t.Errorf("%+v, did %q, %v", got, own.done, err)
	}
	for name, fix := range map[string]string{UFW: "-A ufw-before-input -p 89 -j ACCEPT", Firewalld: "sudo firewall-cmd --permanent --add-protocol=ospf"} {
		m := newMachine()
		m.name, m.open.Protocols = name, protocols
		_, err := PlanEnable(t.Context(), m, m, EnableOptions{})
		if err == nil {
			t.Errorf("%s: no refusal", name)
			continue
		}
		if f := fault.From(err); f.Code != fault.FirewallFailed || !strings.Contains(f.Fix, fix) || !strings.Contains(f.Message, "the protocol ospf, which a service of the system receives") {
			t.Errorf("%s: %v, %s", name, err, f.Fix)
		}
		got, err := plan(t, m, EnableOptions{Force: true}).Do(t.Context())
		if err != nil || got.AllowedProtocols != nil || !strings.Contains(got.Details, "shuts out the protocol ospf") || !strings.Contains(got.Details, "shuts out the protocol protocol-200") {
			t.Errorf("%s, forced: %+v, %v", name, got, err)
		}
		m.skipped = []string{`rule protocol value="ospf" accept`, "in before.rules, protocol protocol-200"}
		m.on, m.done = false, nil
		if got, err := plan(t, m, EnableOptions{}).Do(t.Context()); err != nil || strings.Contains(got.Details, "shuts out") {
			t.Errorf("%s, named: %+v, %v", name, got, err)
		}
	}
}

// What this machine reaches others by is let in, whoever is logged in, and a rule that denies it is a reason to ask.
func TestWaysOutAreLetIn(t *testing.T) {
	m := newMachine()
	m.open.WaysOut = []WayOut{{Port{4789, "udp"}, "vx0"}, {tcp(22), "tun0"}}
	got, err := plan(t, m, EnableOptions{}).Do(t.Context())
	if want := []Port{tcp(22), tcp(2222), {4789, "udp"}}; err != nil || !slices.Equal(got.AllowedPorts, want) || !slices.Contains(m.done, "enable [22/tcp 2222/tcp 4789/udp]") {
		t.Errorf("%+v, did %q, %v", got, m.done, err)
	}
	if said := "4789/udp carries the tunnel vx0, by which this machine reaches others."; !strings.Contains(got.Details, said) || strings.Contains(got.Details, "tun0") {
		t.Errorf("said %q", got.Details)
	}
	m = newMachine()
	m.rules[Port{4789, "udp"}], m.open.WaysOut = Denied, []WayOut{{Port{4789, "udp"}, "vx0"}}
	if _, err := PlanEnable(t.Context(), m, m, EnableOptions{}); err == nil || fault.From(err).Code != fault.FirewallFailed || !strings.Contains(err.Error(), "shuts out 4789/udp") {
		t.Errorf("denied: %v", err)
	}
}

func TestProtocolsHaveOneNameEach(t *testing.T) {
	for n := range 256 {
		p, ok := Protocol(uint8(n))
		if back, err := ParseOpening(p.String()); ok && (err != nil || back != p || p.ProtocolNumber() != uint8(n)) {
			t.Errorf("%d is %+v, read back as %+v, %v", n, p, back, err)
		}
	}
	for _, n := range []uint8{0, 1, 2, 6, 17, 58, 255} { // ICMP, IGMP, TCP, UDP, ICMPv6, and what receives nothing
		if p, ok := Protocol(n); ok {
			t.Errorf("%d is %v", n, p)
		}
	}
	for _, text := range []string{"protocol-", "protocol-1", "protocol-47", "protocol-089", "protocol-256", "protocol--1"} {
		if p, err := ParseOpening(text); err == nil {
			t.Errorf("%q is %v", text, p)
		}
	}
}
