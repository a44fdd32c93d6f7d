// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestParsePorts(t *testing.T) {
	for text, want := range map[string]string{
		"80": "80", DefaultPorts: "1-1024", "80,443": "80,443", "443,80,80": "80,443", "22,8000-8100,25": "22,25,8000-8100",
		"1-5,3-9": "1-9", "1-5,6-9": "1-9", "1-9,3-4": "1-9", "65535": "65535", "1-65535": "1-65535", "all": "1-65535", "7-7": "7", "65534,65535": "65534-65535",
	} {
		got, err := ParsePorts(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "0", "65536", "80-22", "1-", "-1", "-", ",", "1,", ",1", "a", "1-2-3", "1 ", " 1", "1, 2", "+1", "01", "0x50", "1_0", "1e3", "ALL", "all,1",
		"-oN", "99999999999999999999", "١", "80;id", strings.Repeat("1,", 3000) + "1", "\x00",
	} {
		if got, err := ParsePorts(text); err == nil || fault.From(err).Code != fault.InvalidPortRange {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func FuzzParsePorts(f *testing.F) {
	for _, text := range []string{"1-1024", "all", "80,443", "22,1-9,5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePorts(text)
		if err != nil {
			return
		}
		list := p.List()
		if len(list) == 0 || len(list) != p.Count() || list[0] == 0 || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("%q: %v", text, p)
		}
		if again, err := ParsePorts(p.String()); err == nil && !slices.Equal(again, p) || err != nil && len(p.String()) <= maxPortsText {
			t.Errorf("%q became %s, which is %v, %v", text, p, again, err)
		}
	})
}

func TestServicesAreInOrder(t *testing.T) {
	if !slices.IsSortedFunc(wellKnownPorts[:], func(a, b wellKnown) int { return int(a.port) - int(b.port) }) {
		t.Error("the search needs ascending ports")
	}
	for i, c := range wellKnownPorts[1:] {
		if wellKnownPorts[i].port == c.port {
			t.Errorf("%d stands there twice", c.port)
		}
	}
	for port, want := range map[uint16]string{22: "ssh", 443: "https", 61616: "activemq", 2: "unknown", 65535: "unknown"} {
		if got := service(port); got != want {
			t.Errorf("%d: %s", port, got)
		}
	}
}
