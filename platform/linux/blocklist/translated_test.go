// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/platform/linux/conntrack"
)

// A block drops packets by the address that they have on their way, wherever a program meant them to go.
func TestWhereRulesSendWhatGoesToAServerIsProtected(t *testing.T) {
	address := netip.MustParseAddr
	protected := []blocklist.ProtectedAddr{
		blocklist.ProtectOwn(address("192.0.2.10"), blocklist.WhyOwn),
		blocklist.Protect(address("192.0.2.10"), blocklist.WhyNameServer), // which a container is behind
		blocklist.Protect(address("10.96.0.10"), blocklist.WhyUpstream),
		blocklist.Protect(address("10.96.0.20"), "the other end of the tunnel wg0"),
		{Prefix: netip.MustParsePrefix("198.51.100.255/32"), Why: blocklist.WhyBroadcast},
		{Prefix: netip.MustParsePrefix("10.97.0.0/16"), Why: "a network"},
		{Prefix: netip.MustParsePrefix("10.96.0.30/32"), Why: "the other end of a session", Sessions: &fault.Protected{}},
		{Unseen: "nobody knows"},
		blocklist.Protect(address("192.0.2.10"), "a server that gets this machine's logs"),
		blocklist.Protect(address("127.0.0.9"), "a time server of this machine"),
		blocklist.Protect(address("10.96.0.10"), blocklist.WhyNameServer),
	}
	for name, c := range map[string]struct{ local, called, wire, want string }{
		"an upstream":        {"192.0.2.10", "10.96.0.10:53", "203.0.113.53", "10.96.0.10, which is " + blocklist.WhyUpstream},
		"within TLS":         {"192.0.2.10", "10.96.0.10:853", "203.0.113.53", "10.96.0.10, which is " + blocklist.WhyUpstream},
		"an own address":     {"192.0.2.10", "192.0.2.10:53", "172.17.0.2", "192.0.2.10, which is " + blocklist.WhyNameServer},
		"from loopback":      {"127.0.0.1", "10.96.0.10:53", "203.0.113.53", "10.96.0.10, which is " + blocklist.WhyUpstream},
		"a tunnel":           {"192.0.2.10", "10.96.0.20:51820", "203.0.113.20", "10.96.0.20, which is the other end of the tunnel wg0"},
		"another port of it": {"192.0.2.10", "192.0.2.10:80", "172.17.0.2", ""},
		"at loopback":        {"127.0.0.1", "127.0.0.9:123", "172.17.0.2", ""},
		"of another host":    {"198.51.100.7", "10.96.0.10:53", "203.0.113.53", ""},
		"to this machine":    {"192.0.2.10", "10.96.0.10:53", "192.0.2.10", ""},
		"to loopback":        {"192.0.2.10", "10.96.0.10:53", "127.0.0.1", ""},
		"to anybody":         {"192.0.2.10", "10.96.0.99:53", "203.0.113.53", ""},
		"in a network":       {"192.0.2.10", "10.97.0.1:53", "203.0.113.53", ""},
		"a session":          {"192.0.2.10", "10.96.0.30:22", "203.0.113.30", ""},
	} {
		flow := conntrack.Translation{Local: address(c.local), Called: netip.MustParseAddrPort(c.called), Wire: netip.AddrPortFrom(address(c.wire), 5353)}
		s := &HostContext{kernel: quietKernel()}
		var names []netip.Addr
		s.kernel.ask = func(_ context.Context, servers []netip.Addr) { names = servers }
		s.kernel.translations = func(_ context.Context, wanted func(conntrack.Translation) bool) (list []conntrack.Translation, err error) {
			for range 2 { // as many ports of it are called
				if wanted(flow) {
					list = append(list, flow)
				}
			}
			return list, nil
		}
		var want []blocklist.ProtectedAddr
		if c.want != "" {
			want = append(want, blocklist.Protect(flow.Wire.Addr(), "where a rule of the packet filter sends what goes to "+c.want))
		}
		if got, err := s.translated(t.Context(), protected); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if want := []netip.Addr{address("192.0.2.10"), address("10.96.0.10")}; !slices.Equal(names, want) {
			t.Errorf("asked before: %v", names)
		}
	}
}

// What comes and goes with the flows is asked for a new block alone: what restores blocks does so every minute, and
// must not keep a block suspended for it.
func TestTranslationsAreForNewBlocks(t *testing.T) {
	flow := conntrack.Translation{Local: netip.MustParseAddr("127.0.0.1"), Called: netip.MustParseAddrPort("10.96.0.10:53"), Wire: netip.MustParseAddrPort("203.0.113.53:53")}
	server := blocklist.Protect(flow.Called.Addr(), blocklist.WhyNameServer)
	s := NewHostContext(t.TempDir())
	s.kernel.translations = func(_ context.Context, wanted func(conntrack.Translation) bool) (list []conntrack.Translation, err error) {
		if wanted(flow) {
			list = append(list, flow)
		}
		return list, unix.EINVAL
	}
	want := []blocklist.ProtectedAddr{blocklist.Protect(flow.Wire.Addr(), "where a rule of the packet filter sends what goes to 10.96.0.10, which is "+blocklist.WhyNameServer)}
	if list, err := s.NamedAddrs(t.Context(), []blocklist.ProtectedAddr{server}); !slices.Equal(list, want) || !errors.Is(err, unix.EINVAL) {
		t.Errorf("for a new block: %+v, %v", list, err)
	}
	if _, err := s.ProtectedAddrs(t.Context()); errors.Is(err, unix.EINVAL) {
		t.Errorf("for what restores blocks: %v", err)
	}
}

// Whoever may not ask may not block either; anything else that is not known is no permission.
func TestTranslationsThatCannotBeReadAreNoPermission(t *testing.T) {
	for _, c := range []struct{ err, want error }{{unix.EPERM, nil}, {unix.ENOBUFS, unix.ENOBUFS}} {
		s := &HostContext{kernel: quietKernel()}
		s.kernel.translations = func(context.Context, func(conntrack.Translation) bool) ([]conntrack.Translation, error) {
			return nil, c.err
		}
		if _, err := s.translated(t.Context(), nil); !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}
