// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/blocklist"
	"sentinel/internal/config"
	"sentinel/internal/host"
)

// oneName is a name server that knows one name.
type oneName struct{ name, address string }

func (o oneName) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	if name != o.name {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name}
	}
	return []netip.Addr{netip.MustParseAddr(o.address)}, nil
}

func (oneName) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, nil
}

// Whoever watches this machine must not be blinded by a block. A receiver that no name server knows now
// forbids none.
func TestReceiversOfReportsAreProtected(t *testing.T) {
	s := session{config: config.Default(), host: &host.Host{Blocklist: host.Blocklist{Context: emptyFilter{}, Resolver: oneName{"reports.example", "203.0.113.7"}}}}
	s.config.Webhook.Endpoints = []config.Endpoint{{URL: "https://reports.example:8443/x"}, {URL: "https://203.0.113.8/"}, {URL: "https://silent.example/"}}
	s.config.Webhook.Proxy = "http://[2001:db8::9]:3128"
	found := map[string]string{}
	on := s.withReceivers(s.host.Blocklist.Context)
	named := func(ctx context.Context) ([]blocklist.ProtectedAddr, error) { return on.NamedAddrs(ctx, nil) }
	for _, read := range []func(context.Context) ([]blocklist.ProtectedAddr, error){on.ProtectedAddrs, named} {
		list, err := read(t.Context())
		if err != nil {
			t.Error(err)
		}
		for _, p := range list {
			found[p.Prefix.String()] = p.Why
		}
	}
	const receiver = "a receiver of this machine's reports (webhook.endpoints)"
	want := map[string]string{"203.0.113.7/32": receiver, "203.0.113.8/32": receiver, "2001:db8::9/128": "the proxy of this machine's reports (webhook.proxy)"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

// A turn is taken once the receivers are asked for.
type turn chan struct{}

func (n turn) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	close(n)
	return []netip.Addr{netip.MustParseAddr("203.0.113.7")}, nil
}

func (turn) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, nil
}

// inTurn is a machine whose own servers are found at the turn.
type inTurn struct {
	emptyFilter
	turn
}

func (m inTurn) NamedAddrs(context.Context, []blocklist.ProtectedAddr) ([]blocklist.ProtectedAddr, error) {
	<-m.turn
	return []blocklist.ProtectedAddr{blocklist.Protect(netip.MustParseAddr("192.0.2.20"), "a directory server")}, nil
}

// A block waits once for the name servers.
func TestReceiversAreLookedUpBesideTheServersOfTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := make(turn)
		s := session{config: config.Default(), host: &host.Host{Blocklist: host.Blocklist{Context: inTurn{turn: names}, Resolver: names}}}
		s.config.Webhook.Endpoints = []config.Endpoint{{URL: "https://reports.example/"}}
		list, err := s.withReceivers(s.host.Blocklist.Context).NamedAddrs(t.Context(), nil)
		if err != nil || len(list) != 2 || list[0].Prefix.String() != "192.0.2.20/32" || list[1].Prefix.String() != "203.0.113.7/32" {
			t.Errorf("%v, %v", list, err)
		}
	})
}
