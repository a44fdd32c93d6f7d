// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/target"
)

// nameServer is a name server of tables. It says nothing about names in the domain "silent".
type nameServer struct {
	addresses map[string]string
	servers   map[string][]string
}

func (d nameServer) LookupNetIP(ctx context.Context, _, name string) ([]netip.Addr, error) {
	if strings.HasSuffix(name, ".silent") {
		<-ctx.Done()
		return nil, &net.DNSError{Err: "i/o timeout", Name: name, IsTimeout: true}
	}
	text, found := d.addresses[name]
	if !found {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(text)}, nil
}

func (d nameServer) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	key := "_" + service + "._" + proto + "." + name
	if name == "broken" {
		return "", nil, &net.DNSError{Err: "server misbehaving", Name: key}
	}
	var list []*net.SRV
	for _, s := range d.servers[key] {
		list = append(list, &net.SRV{Target: s})
	}
	if len(list) == 0 {
		return "", nil, &net.DNSError{Err: "no such host", Name: key, IsNotFound: true}
	}
	return "", list, nil
}

func host(t *testing.T, text string) target.Host {
	t.Helper()
	h, err := target.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestServersAreProtectedByTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := nameServer{
			map[string]string{"ldap.example": "192.0.2.20", "dc1.example": "192.0.2.21", "dc2.example": "2001:db8::22", "nowhere.example": "0.0.0.0"},
			map[string][]string{"_ldap._tcp.example": {"dc1.example.", "dc2.example.", "gone.example.", "-bad."}},
		}
		server := func(name, service string, needed bool) Server {
			return Server{Host: host(t, name), Service: service, Why: "a server", Needed: needed}
		}
		for _, c := range []struct {
			list    []Server
			want    string
			unknown string
		}{
			{[]Server{server("ldap.example", "", true), server("192.0.2.9", "", true)}, "192.0.2.20/32 192.0.2.9/32", ""},
			{[]Server{server("gone.example", "", true), server("nowhere.example", "", true)}, "", ""},
			{[]Server{server("example", "ldap", true)}, "192.0.2.21/32 2001:db8::22/128", ""},
			{[]Server{server("gone.example", "ldap", true)}, "", ""},
			{[]Server{server("broken", "ldap", true), server("ldap.example", "", true)}, "192.0.2.20/32", "broken, which is a server: lookup _ldap._tcp.broken: server misbehaving"},
			{[]Server{server("broken", "ldap", false)}, "", ""},
			{[]Server{server("a.silent", "", true), server("ldap.example", "", true), server("b.silent", "", false)}, "192.0.2.20/32", "a.silent, which is a server: the name servers do not answer in time"},
		} {
			list, err := ProtectServers(t.Context(), names, c.list)
			var found []string
			for _, p := range list {
				found = append(found, p.Prefix.String())
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]string{c.want, c.unknown}, []string{strings.Join(found, " "), text}); diff != "" {
				t.Errorf("%v: %s", c.list, diff)
			}
		}
		var many []Server
		for i := range maxServers + 1 {
			many = append(many, server(fmt.Sprintf("192.0.2.%d", i+1), "", true))
		}
		if list, err := ProtectServers(t.Context(), names, many); len(list) != maxServers || err == nil {
			t.Errorf("%d, %v", len(list), err)
		}
		for i := range many {
			many[i].Needed = false
		}
		list, err := ProtectServers(t.Context(), names, append(many, server("ldap.example", "", true)))
		if len(list) != maxServers || err != nil || list[0].Prefix.String() != "192.0.2.20/32" {
			t.Errorf("a needed one behind many others: %d, %v", len(list), err)
		}
	})
}

// Blocks ask the name servers, and what they do not tell is no permission. What restores blocks runs
// before there is a network.
func TestOnlyNewBlocksAskForNames(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	m.named = []ProtectedAddr{Protect(netip.MustParseAddr("203.0.113.8"), "a directory server")}
	if _, err := block(t, l, Request{Address: "203.0.113.8"}); code(err) != fault.ProtectedAddress || !strings.Contains(err.Error(), "a directory server") {
		t.Errorf("%v", err)
	}
	m.named, m.unnamed = nil, errors.New("ldap.example: silent")
	if _, err := block(t, l, Request{Address: "203.0.113.9"}); code(err) != fault.Unavailable || !strings.Contains(err.Error(), "ldap.example: silent") {
		t.Errorf("%v", err)
	}
	if r, err := l.Restore(t.Context()); err != nil || len(r.Unavailable) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := l.Standings(t.Context(), []netip.Addr{netip.MustParseAddr("203.0.113.9")}); err != nil {
		t.Error(err)
	}
}
