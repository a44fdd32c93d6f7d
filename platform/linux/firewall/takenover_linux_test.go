// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/conntrack"
)

// calledFrom connects this host with the other one, as "ssh -R" does for a session that comes back by it, and echoes.
// It returns the other end.
func (h *neighbour) calledFrom(address string) (there net.Conn) {
	h.t.Helper()
	var l net.Listener
	var err error
	h.do(func() { l, err = net.Listen("tcp", net.JoinHostPort(address, "0")) })
	if err != nil {
		h.t.Fatal(err)
	}
	defer l.Close()
	here, err := (&net.Dialer{KeepAlive: -1}).DialContext(h.t.Context(), "tcp", l.Addr().String())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { here.Close() })
	go io.Copy(here, here)
	if there, err = l.Accept(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { there.Close() })
	return there
}

// Connection tracking has seen none of the connections, and the other host sends first: it takes that for a new
// connection, or, where it is strict, for none.
func takesOver(t *testing.T, h *neighbour, m *Manager) {
	t.Helper()
	goOn := func(loose string, change func()) {
		t.Helper()
		command(t, "sysctl -q net.netfilter.nf_conntrack_tcp_loose="+loose)
		session, out4, out6 := openSession(t, h), h.calledFrom(h.address()), h.calledFrom("2001:db8:1::2")
		change()
		echo(t, "outgoing, IPv4, loose "+loose, out4)
		echo(t, "outgoing, IPv6, loose "+loose, out6)
		goesOn(t, session)
	}
	goOn("1", func() {
		if done := try(t, kernel(t), m, time.Hour); !strings.Contains(done.Details, "; open connections go on.") || strings.Contains(done.Details, "taken over") {
			t.Errorf("details %q", done.Details)
		}
	})
	endTrial(t, m, "was taken back")
	goOn("0", func() { enable(t, kernel(t), m) })
	switchOff(t, kernel(t), m, false)
	goOn("0", func() { endTrial(t, m, "was switched on again") })
	h.reaches("8080", false)
}

func TestUFWTakesOpenConnectionsOver(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	m := NewManager(sysexec.Host{})
	takesOver(t, h, m)
	command(t, "ufw --force disable")
	shell(t, "sed -i '0,/^-A/s//-A ufw-before-input -s 192.0.2.0\\/24 -j DROP\\n&/' /etc/ufw/before.rules")
	plan, err := firewall.PlanEnable(t.Context(), kernel(t), m, firewall.EnableOptions{Trials: trials(m, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if said := plan.Summary(); !strings.Contains(said, "go on unless a rule of ufw drops them") || !strings.Contains(said, "before.rules, -A ufw-before-input -s 192.0.2.0/24 -j DROP") {
		t.Errorf("with a rule that drops: %s", said)
	}
}

func TestFirewalldTakesOpenConnectionsOver(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl disable ufw.service")
	takesOver(t, h, NewManager(sysexec.Host{}))
}

func oneConnection() *machine {
	m := &machine{list: []network.Socket{session("192.0.2.1:22", 1)}}
	m.list[0].Remote = netip.MustParseAddrPort("203.0.113.1:4000")
	return m
}

func TestConnectionsThatAreNotTakenOverAreCounted(t *testing.T) {
	loads := 0
	left, err := oneConnection().manager().takingOver(t.Context(), func() error { loads++; return nil })
	if left != 1 || loads != 1 || err != nil {
		t.Errorf("%d left, loaded %d times, %v", left, loads, err)
	}
	want := errors.New("no rules")
	if _, err := oneConnection().manager().takingOver(t.Context(), func() error { return want }); !errors.Is(err, want) {
		t.Errorf("not loaded: %v", err)
	}
	m := oneConnection()
	m.socketsErr = errors.New("no sockets")
	if _, err := m.manager().takingOver(t.Context(), func() error { loads++; return nil }); !errors.Is(err, m.socketsErr) || loads != 1 {
		t.Errorf("connections that are not known: %v, loaded %d times", err, loads)
	}
}

// Whoever makes many connections, or a kernel that takes none, does not keep rules off that were switched off for a trial.
func TestRulesComeBackAlthoughConnectionsAreNotTakenOver(t *testing.T) {
	want := errors.New("no rules")
	for name, c := range map[string]struct{ listing, loading error }{
		"no end of it": {}, "not listed": {listing: errors.New("no sockets")}, "not loaded": {loading: want},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := oneConnection()
			m.socketsErr = c.listing
			of := m.manager()
			of.sockets.track = func(ctx context.Context, list []conntrack.Connection) int { <-ctx.Done(); return len(list) }
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			loads := 0
			err := of.puttingBack(ctx, func() error { loads++; return errors.Join(ctx.Err(), c.loading) })
			if loads != 1 || !errors.Is(err, c.loading) {
				t.Errorf("%s: loaded %d times, %v", name, loads, err)
			}
		})
	}
}
