// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"errors"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestAddressesAreReadInOneWayOnly(t *testing.T) {
	for text, want := range map[string]string{
		"203.0.113.7":          "203.0.113.7",
		"2001:db8::7":          "2001:db8::7",
		"2001:0DB8:0:0::0007":  "2001:db8::7",
		"::ffff:203.0.113.7":   "203.0.113.7",
		"::ffff:cb00:7107":     "203.0.113.7",
		"64:ff9b::203.0.113.7": "64:ff9b::cb00:7107",
		"2002:cb00:7107::":     "2002:cb00:7107::",
		"::203.0.113.7":        "::cb00:7107",
		"255.255.255.255":      "255.255.255.255",
		"0000:0000:0000:0000:0000:ffff:192.0.2.255": "192.0.2.255",
	} {
		if got, err := ParseAddress(text); err != nil || got.String() != want {
			t.Errorf("%q: got %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestWhatIsNoAddressIsRefusedWithItsMistake(t *testing.T) {
	for text, mistake := range map[string]string{
		"":                        "empty",
		"0/0":                     "no networks",
		"203.0.113.0/24":          "no networks",
		"fe80::1%eth0":            "zone",
		"::ffff:192.0.2.1%eth0":   "zone",
		"203.0.113.7:80":          "port",
		"[2001:db8::7]:80":        "port",
		"[2001:db8::7]":           "brackets",
		"010.0.0.1":               "leading zero",
		"192.0.2.01":              "leading zero",
		" 192.0.2.1":              "blanks",
		"192.0.2.1\n":             "blanks",
		"203.0.113.7,203.0.113.8": "one address",
		"203.0.113.7 203.0.113.8": "one address",
		"http://203.0.113.7/":     "URL",
		"1.2.3.4;rm":              "names are not looked up",
		"-j":                      "names are not looked up",
		"localhost":               "names are not looked up",
		"999.1.1.1":               "0 to 255",
		"0x7f.0.0.1":              "0 to 255",
		"2130706433":              "0 to 255",
		"127.1":                   "0 to 255",
		"1.2.3.4.5":               "0 to 255",
		"2001:db8:::1":            "0 to ffff",
		"192.0.2.1\x00":           "0 to 255",
		"١٩٢.0.2.1":               "0 to 255",
		strings.Repeat("1", 999):  "0 to 255",
	} {
		_, err := ParseAddress(text)
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || e.Code != fault.InvalidIP || !strings.Contains(e.Message, mistake) || len(e.Message) > 300 {
			t.Errorf("%q: %v does not speak of %q", text, err, mistake)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"192.0.2.1", "::1", "::ffff:192.0.2.1", "fe80::1%eth0", "010.0.0.1", "[::1]:80", "0/0", "-j", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if a.Zone() != "" || a.Is4In6() || strings.HasPrefix(text, "-") {
			t.Errorf("%q was taken as %v", text, a)
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q became %v, which reads as %v, %v", text, a, again, err)
		}
	})
}
