// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/portscan"
	"sentinel/internal/portscan/connectscan"
	"sentinel/internal/target"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/testnet"
)

func scanned(t *testing.T, to, which string, policy portscan.Policy) (portscan.Report, error) {
	t.Helper()
	h, err := target.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	set, err := portscan.ParsePorts(which)
	if err != nil {
		t.Fatal(err)
	}
	s := portscan.Sources{Resolver: net.DefaultResolver, Machine: NewMachine("/"), Engine: connectscan.New(Dialer{}), RouteCheck: func(string) string { return "" }}
	return portscan.Scan(t.Context(), s, portscan.Request{Target: h, Ports: set, Policy: policy, Rows: portscan.DefaultRows})
}

func TestAScanOfThisMachineFindsWhoListens(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	testnet.ThisHost(t).Listen(testnet.KeepOpen, 700)
	l, err := net.Listen("tcp4", "127.0.0.1:701")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	bound, err := testenv.BoundTo("lo").Listen(t.Context(), "tcp4", "0.0.0.0:703")
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	c, err := net.Dial("tcp", "127.0.0.1:700") // the socket at the other end is no listener
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	me, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	got, err := scanned(t, "127.0.0.1", "1-1024", portscan.Policy{})
	if err != nil || len(got.Ports) != 3 || len(got.Unavailable) != 0 || !got.Local || !got.Complete || got.ClosedCount != 1021 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []struct {
		port    int
		bind    string
		exposed bool
	}{{700, "::", true}, {701, "127.0.0.1", false}, {703, "0.0.0.0", false}} {
		p := got.Ports[i]
		if p.Port != want.port || p.Bind != want.bind || *p.Exposed != want.exposed || p.PID != os.Getpid() || p.ProcessName != strings.TrimSpace(string(me)) {
			t.Errorf("%+v", p)
		}
	}
	if got, err := scanned(t, "192.0.2.1", "700-701", portscan.Policy{}); err != nil || !got.Local || got.OpenCount != 1 {
		t.Errorf("an address of its own: %+v, %v", got, err)
	}
	if _, err := scanned(t, "192.0.2.2", "22", portscan.Policy{}); fault.From(err).Code != fault.TargetNotAllowed {
		t.Errorf("a neighbour in a network that is not private: %v", err)
	}
	allowed := portscan.Policy{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	if got, err := scanned(t, "192.0.2.2", "22", allowed); err != nil || got.ClosedCount != 1 || got.Local {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := scanned(t, "localhost", "700-701", portscan.Policy{}); err != nil || got.OpenCount != 3 || got.Target != "localhost" || len(got.Addresses) != 2 || got.Addresses[1].OpenCount != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := scanned(t, "203.0.113.7", "22", portscan.Policy{Force: true}); fault.From(err).Code != fault.Unavailable {
		t.Errorf("no route: %v", err)
	}
	if _, err := scanned(t, "nowhere.invalid", "22", portscan.Policy{}); fault.From(err).Code != fault.HostNotFound {
		t.Error(err)
	}
	testnet.ThisHost(t).Run("ip addr add 10.9.8.1/24 dev left0")
	far.Run("ip addr add 10.9.8.2/24 dev right0")
	if got, err := scanned(t, "10.9.8.2", "22", portscan.Policy{}); err != nil || got.ClosedCount != 1 {
		t.Errorf("a private network of its own: %+v, %v", got, err)
	}
}

func TestNetworksAreThoseOfTheInterfaces(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testnet.ThisHost(t).Run("ip addr add 10.9.8.7/24 dev lo")
	got, err := NewMachine("/").Networks(t.Context())
	if err != nil || !slices.Contains(got, netip.MustParsePrefix("10.9.8.7/24")) || !slices.Contains(got, netip.MustParsePrefix("::1/128")) {
		t.Errorf("%v, %v", got, err)
	}
}
