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

// A crowd is a model of ports that sessions come in at, and of who listens there.
type crowd struct {
	sessions.Model
	servers map[Port]int
}

func newCrowd() *crowd {
	return &crowd{Model: sessions.Model{Ports: map[sessions.Port]sessions.Claim{}}, servers: map[Port]int{}}
}

// serve has a program of a user serve a session at a port.
func (c *crowd) serve(user int, p Port, whose sessions.Ownership, from ...string) {
	s := &sessions.Session{User: "ann", Whose: whose}
	for _, a := range from {
		s.From = append(s.From, netip.MustParseAddr(a))
	}
	c.Sessions = append(c.Sessions, s)
	c.Ports[sessions.Port{Protocol: p.Protocol, Number: p.Number}] = sessions.Claim{Sessions: []*sessions.Session{s}}
	c.servers[p] = user
}

func (c *crowd) on(m *machine) EnableOptions {
	m.open.Servers = c.servers
	return EnableOptions{Sessions: func(context.Context) (*sessions.Model, error) { return &c.Model, nil }}
}

const elsewhere = "203.0.113.7"

// Whoever serves terminals at very many ports has none but a few let in, and takes none from others.
func TestPortsThatOneUserServesAreBounded(t *testing.T) {
	c := newCrowd()
	for n := range uint16(120) {
		c.serve(4321, tcp(9000+n), sessions.Others, elsewhere)
	}
	c.serve(1000, Port{60001, "udp"}, sessions.Others, elsewhere)
	c.serve(1001, tcp(9500), sessions.PossiblyOwn, elsewhere)
	c.serve(4321, tcp(9600), sessions.Own)
	c.serve(0, tcp(9700), sessions.Others)
	for name, shared := range map[string]int{Nftables: 16, UFW: 6, Firewalld: 6} {
		m := newMachine()
		m.name = name
		got, err := plan(t, m, c.on(m)).Do(t.Context())
		want := []Port{tcp(22), tcp(2222)}
		for n := range shared {
			want = append(want, tcp(9000+uint16(n)))
		}
		want = append(want, tcp(9500), tcp(9600), tcp(9700), Port{60001, "udp"})
		if slices.SortFunc(got.AllowedPorts, Port.Compare); err != nil || !slices.Equal(got.AllowedPorts, want) {
			t.Errorf("%s: let in %v, want %v, %v", name, got.AllowedPorts, want, err)
		}
		said := "Programs of users serve sessions at more ports, which are not let in: " + portList([]Port{tcp(9000 + uint16(shared)), tcp(9001 + uint16(shared)), tcp(9002 + uint16(shared))}, ", ")
		if !strings.Contains(got.Details, said) || !strings.Contains(got.Details, "and "+map[int]string{16: "101", 6: "111"}[shared]+" more.") || !strings.Contains(got.Details, "--keep-open") {
			t.Errorf("%s: details %q", name, got.Details)
		}
	}
}

// What never leaves this machine comes by loopback.
func TestPortsOfConnectionsThatStayHereAreNotLetIn(t *testing.T) {
	c, m := newCrowd(), newMachine()
	c.serve(4321, tcp(9000), sessions.Others)
	c.serve(4321, Port{60001, "udp"}, sessions.Others)
	c.serve(4321, tcp(9002), sessions.Others, elsewhere)
	got, err := plan(t, m, c.on(m)).Do(t.Context())
	if want := []Port{tcp(22), tcp(2222), tcp(9002), {60001, "udp"}}; err != nil || !slices.Equal(slices.SortedFunc(slices.Values(got.AllowedPorts), Port.Compare), want) {
		t.Errorf("let in %v, %v", got.AllowedPorts, err)
	}
	if strings.Contains(got.Details, "9000/tcp") {
		t.Errorf("details %q", got.Details)
	}
}

func TestSentencesNameSomeOfManyPorts(t *testing.T) {
	c, m := newCrowd(), newMachine()
	for n := range uint16(200) {
		c.serve(0, tcp(9000+n), sessions.Others, elsewhere)
	}
	m.name = Nftables
	got, err := plan(t, m, c.on(m)).Do(t.Context())
	if err != nil || len(got.AllowedPorts) != 202 || !strings.Contains(got.Details, "9017/tcp and 182 more) were let in first") || !strings.Contains(got.Details, "3 other services became unreachable from other hosts.") {
		t.Errorf("%d ports, %q, %v", len(got.AllowedPorts), got.Details, err)
	}
}

// A program of any user can serve a session at a port that a rule of the owner denies. The owner is not
// told to remove that rule.
func TestRulesOutweighSessionsThatUsersServe(t *testing.T) {
	for name, serve := range map[string]struct {
		user  int
		whose sessions.Ownership
		keep  []Port
		stays bool
	}{
		"of another":              {4321, sessions.Others, nil, true},
		"perhaps the caller's":    {4321, sessions.PossiblyOwn, nil, true},
		"the caller's own":        {4321, sessions.Own, nil, false},
		"that the system serves":  {0, sessions.Others, nil, false},
		"that is to be kept open": {4321, sessions.Others, []Port{tcp(9000)}, false},
	} {
		c, m := newCrowd(), newMachine()
		c.serve(serve.user, tcp(9000), serve.whose, elsewhere)
		m.rules[tcp(9000)] = Denied
		m.open.Listeners = append(m.open.Listeners, at(tcp(9000), "ttyd"))
		o := c.on(m)
		o.KeepOpen = serve.keep
		e, err := PlanEnable(t.Context(), m, m, o)
		if !serve.stays {
			if f := fault.From(err); f.Code != fault.FirewallFailed || !strings.Contains(f.Fix, "sudo undeny 9000/tcp") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := e.Do(t.Context())
		if err != nil || !slices.Equal(got.AllowedPorts, []Port{tcp(22), tcp(2222)}) || !slices.Contains(got.Closes, at(tcp(9000), "ttyd")) || slices.Contains(got.StaysOpen, at(tcp(9000), "ttyd")) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if want := "What denies goes on to do so: there is deny 9000/tcp, although 9000/tcp carries "; !strings.Contains(got.Details, want) || strings.Contains(got.Details, "emove") {
			t.Errorf("%s: details %q", name, got.Details)
		}
	}
}

// pushy has two services of the system, one of a user, and 40 ports of another user with many connections.
func pushy(m *machine) {
	m.open.Remote, m.open.Servers, m.open.Listeners = []Port{tcp(22)}, map[Port]int{}, nil
	serve := func(user int, p Port, process string, connections int) {
		m.open.Servers[p] = user
		m.open.Listeners = append(m.open.Listeners, Listener{Port: p, Process: process, Connections: new(connections)})
	}
	for n := range uint16(40) {
		serve(4321, tcp(3000+n), "web", 3)
	}
	serve(0, tcp(8080), "nginx", 2)
	serve(0, tcp(9100), "exporter", 0)
	serve(1000, tcp(9000), "app", 1)
}

// first are the ports that a question names.
func first(list []Listener) (ports []Port) {
	for _, l := range list[:5] {
		ports = append(ports, l.Port)
	}
	return ports
}

// Whoever listens at any number of ports, with any number of connections, takes nobody's place among the first
// and none in the list.
func TestNobodyPushesServicesOutOfAQuestion(t *testing.T) {
	want := []Port{tcp(8080), tcp(3000), tcp(9100), tcp(9000), tcp(3001)}
	m := newMachine()
	pushy(m)
	closed := plan(t, m, EnableOptions{}).Preview()
	if got := first(closed.Closes); !slices.Equal(got, want) || len(closed.Closes) != 30 || closed.ClosesTotal != 43 || !closed.ClosesTruncated {
		t.Errorf("closes %v, %d of %d", got, len(closed.Closes), closed.ClosesTotal)
	}
	for _, l := range m.open.Listeners {
		m.rules[l.Port] = Open
	}
	if stays := plan(t, m, EnableOptions{}).Preview(); !slices.Equal(first(stays.StaysOpen), want) || stays.StaysOpenTotal != 43 || stays.Closes == nil || stays.ClosesTotal != 0 {
		t.Errorf("closes %#v, stays open %v", stays.Closes, stays.StaysOpen)
	}
	off, trials := filtering(t)
	pushy(off)
	if exposed := planDisable(t, off, DisableOptions{Trials: trials}).Preview(); !slices.Equal(first(exposed.Exposes), want) || len(exposed.Exposes) != 30 || exposed.ExposesTotal != 43 {
		t.Errorf("exposes %v", exposed.Exposes)
	}
}

// However many users there are, every other place is the system's.
func TestManyUsersTakeNoPlaceOfTheSystem(t *testing.T) {
	m := newMachine()
	pushy(m)
	for n := range uint16(40) {
		m.open.Servers[tcp(3000+n)] = 4000 + int(n)
	}
	if got, want := first(plan(t, m, EnableOptions{}).Preview().Closes), []Port{tcp(8080), tcp(3000), tcp(9100), tcp(3001), tcp(3002)}; !slices.Equal(got, want) {
		t.Errorf("closes %v, want %v", got, want)
	}
}

// Sessions that programs of users serve are explained after those of the system, and named after its ports.
func TestPortsOfUsersAreNamedLast(t *testing.T) {
	c, m := newCrowd(), newMachine()
	m.name = Nftables
	for user := range 3 {
		for n := range uint16(10) {
			c.serve(4000+user, tcp(3000+100*uint16(user)+n), sessions.Others, elsewhere)
		}
	}
	c.serve(0, tcp(9700), sessions.Others, elsewhere)
	said := plan(t, m, c.on(m)).Summary()
	for _, want := range []string{"(22/tcp, 2222/tcp, 9700/tcp, 3000/tcp, ", " 9700/tcp carries the session of ann from 203.0.113.7; 3000/tcp carries ", "; 3100/tcp carries "} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
}
