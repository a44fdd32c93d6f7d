// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/fault"
)

var asText = cmpopts.EquateComparable(netip.Addr{})

func TestTargetsThatAreUnderstood(t *testing.T) {
	long := strings.Repeat("a", 63)
	for text, want := range map[string]Host{
		"192.0.2.7":                            {Addr: netip.MustParseAddr("192.0.2.7")},
		"2001:DB8::7":                          {Addr: netip.MustParseAddr("2001:db8::7")},
		"::ffff:192.0.2.7":                     {Addr: netip.MustParseAddr("192.0.2.7")},
		"Printer.Example.NET":                  {Name: "printer.example.net"},
		"example.net.":                         {Name: "example.net"},
		"localhost":                            {Name: "localhost"},
		"xn--bcher-kva.example":                {Name: "xn--bcher-kva.example"},
		"1a.2b":                                {Name: "1a.2b"},
		long + "." + long + "." + long + ".aa": {Name: long + "." + long + "." + long + ".aa"},
	} {
		got, err := Parse(text)
		if err != nil || !cmp.Equal(got, want, asText) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"", ".", "..", "-", "--script=x", "-oN /etc/x", "-iL/etc/passwd", "a b", "a\x00b", "a\nb", "*", "a_b", "a..b", ".a", "-a.b", "a.-b", "a-.b",
		"192.0.2.0/24", "2001:db8::/32", "192.0.2.7:80", "[2001:db8::7]", "http://a.b", "a@b", "192.0.2.1-9", "192.0.2.*", "192.0.2", "192.0.2.7.9",
		"1", "0x7f.1", "0x7f000001", "017700000001", "a.0b1", "192.0.2.007", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255",
		"bücher.example", "\u212aelvin.example", "a\u202eb", strings.Repeat("a", 300), strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 127) + "aa", "a\xff",
	} {
		got, err := Parse(text)
		known, ok := errors.AsType[*fault.Error](err)
		if !ok || known.Code != fault.InvalidTarget || (got != Host{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

type fakeResolver func(ctx context.Context, network, host string) ([]netip.Addr, error)

func (f fakeResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return f(ctx, network, host)
}

func finds(addrs ...string) Resolver {
	return fakeResolver(func(context.Context, string, string) ([]netip.Addr, error) {
		var list []netip.Addr
		for _, a := range addrs {
			list = append(list, netip.MustParseAddr(a))
		}
		return list, nil
	})
}

func fails(err error) Resolver {
	return fakeResolver(func(context.Context, string, string) ([]netip.Addr, error) { return nil, err })
}

func TestResolve(t *testing.T) {
	name := Host{Name: "a.example"}
	for _, c := range []struct {
		host     Host
		resolver Resolver
		want     []string
		code     fault.Code
	}{
		{Host{Addr: netip.MustParseAddr("192.0.2.7")}, nil, []string{"192.0.2.7"}, ""},
		{name, finds("2001:db8::7", "::ffff:192.0.2.7", "192.0.2.7", "0.0.0.0", "224.0.0.1"), []string{"2001:db8::7", "192.0.2.7"}, ""},
		{name, finds("fe80::1%eth0"), []string{"fe80::1"}, ""},
		{name, finds(), nil, fault.HostNotFound},
		{name, finds("::"), nil, fault.HostNotFound},
		{name, fails(&net.DNSError{IsNotFound: true}), nil, fault.HostNotFound},
		{name, fails(&net.DNSError{IsTimeout: true}), nil, fault.HostNotFound},
		{name, fails(errors.New("broken")), nil, fault.HostNotFound},
	} {
		addrs, err := c.host.Resolve(t.Context(), c.resolver)
		var got []string
		for _, a := range addrs {
			got = append(got, a.String())
		}
		if !cmp.Equal(got, c.want) || err == nil != (c.code == "") || err != nil && fault.From(err).Code != c.code {
			t.Errorf("%v: %v, %v", c.want, got, err)
		}
	}
}

func TestTheEndOfTheCallerIsNotAMissingHost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := fakeResolver(func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
		cancel()
		return nil, &net.DNSError{Err: ctx.Err().Error()}
	})
	if _, err := (Host{Name: "a"}).Resolve(ctx, r); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A parsed target is harmless wherever a program may use it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"192.0.2.7", "a.b", "-x", "fe80::1%a", "é", "1.2.3", "a."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			return
		}
		s := h.String()
		if s == "" || s[0] == '-' || len(s) > maxName || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.:") != "" {
			t.Errorf("%q became %q", text, s)
		}
		if again, err := Parse(s); err != nil || again != h {
			t.Errorf("%q became %q, which is %v, %v", text, s, again, err)
		}
	})
}
