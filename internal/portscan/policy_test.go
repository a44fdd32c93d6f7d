// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func addresses(texts ...string) []netip.Addr {
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

// attached are the networks of the machine in these tests.
var attached = []string{
	"127.0.0.1/8", "10.1.2.3/24", "198.51.100.7/24", "100.64.0.9/10", "169.254.3.4/16", "::1/128", "fe80::9/64", "fd00:ec2::9/64", "2001:db8:5::9/64",
}

func TestWhatMayBeScanned(t *testing.T) {
	allow := Policy{Allow: prefixes("203.0.113.0/24", "2001:db8::/32", "0.0.0.0/0")}
	only := Policy{Allow: prefixes("10.1.2.64/26"), OnlyAllowed: true}
	for _, c := range []struct {
		policy  Policy
		allowed string
		refused string
	}{
		{
			Policy{},
			"127.0.0.1 127.9.9.9 ::1 10.1.2.3 10.1.2.200 198.51.100.7 100.64.0.9 169.254.3.4 fe80::9 fd00:ec2::9 fd00:ec2::77 2001:db8:5::9",
			"10.1.3.1 10.0.0.1 192.168.0.1 198.51.100.8 203.0.113.7 100.64.0.1 169.254.169.254 169.254.3.5 fe80::1 fd00:ec2::254 2001:db8:5::1 100.100.100.200 8.8.8.8 64:ff9b::a9fe:a9fe",
		},
		{allow, "203.0.113.7 2001:db8:7::1 10.1.2.200 192.168.0.1 127.0.0.1", "169.254.169.254 fe80::1 fd00:ec2::254 100.100.100.200 fd01::1"},
		{only, "127.0.0.1 10.1.2.3 10.1.2.65", "10.1.2.9 10.1.3.1 203.0.113.7"},
		{Policy{Force: true}, "169.254.169.254 203.0.113.7 fe80::1", ""},
	} {
		j := policyCheck{c.policy, prefixes(attached...)}
		for _, a := range addresses(strings.Fields(c.allowed)...) {
			if why := j.refusal(a); why != "" {
				t.Errorf("%+v: %s %s", c.policy, a, why)
			}
		}
		for _, a := range addresses(strings.Fields(c.refused)...) {
			if j.refusal(a) == "" {
				t.Errorf("%+v: %s may be scanned", c.policy, a)
			}
		}
	}
}

func TestTheFirstAddressOfEachFamilyThatMayBeScannedIs(t *testing.T) {
	j := policyCheck{Policy{}, prefixes(attached...)}
	got, err := j.choose("a.example", addresses("2001:db8:5::1", "203.0.113.7", "2001:db8:5::9", "10.1.2.77", "10.1.2.78"))
	if err != nil || fmt.Sprint(got) != "[2001:db8:5::9 10.1.2.77]" {
		t.Errorf("%s, %v", got, err)
	}
	_, err = j.choose("a.example", addresses("203.0.113.7", "169.254.169.254"))
	known := fault.From(err)
	if known.Code != fault.TargetNotAllowed || known.Message != "The target a.example may not be scanned: 203.0.113.7 is on no network that this machine is attached to." {
		t.Errorf("%+v", known)
	}
	_, err = j.choose("169.254.169.254", addresses("169.254.169.254"))
	if text := fault.From(err).Message; text != "The target 169.254.169.254 may not be scanned: it is a link-local or metadata address." {
		t.Error(text)
	}
	if fix := fault.From(err).Fix; fix != "Scan this machine or a private network of its own; its administrator can allow more with scan.targets in /etc/sentinel/config.yaml." {
		t.Errorf("the fix is %q", fix)
	}
}
