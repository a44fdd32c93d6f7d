// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wireguard

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestEndpointsAreParsed(t *testing.T) {
	const four, six = "14000400 0200 1234 c0000209 0000000000000000", "20000400 0a00 1234 00000000 20010db8000000000000000000000009 00000000"
	for text, want := range map[string]string{
		"00010000":                                             "",
		"00010000 1c000880 18000080" + four:                    "192.0.2.9",
		"00010000 28000880 24000080" + six:                     "2001:db8::9",
		"00010000 40000880 18000080" + four + "24000080" + six: "192.0.2.9 2001:db8::9",
		"00010000 10000880 0c000080 08000500 19000000":         "",
		"0001": "error", "00010000 14000880 10000080 0c000400 0700 1234 c0000209": "error",
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse([][]byte{b})
		var all []string
		for _, p := range d.Peers {
			if p.Endpoint.IsValid() {
				all = append(all, p.Endpoint.String())
			}
		}
		if got := strings.Join(all, " "); (err != nil) != (want == "error") || err == nil && got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("0000000000000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse([][]byte{b})
		if err != nil {
			return
		}
		for _, p := range d.Peers {
			for _, a := range p.Allowed {
				if !a.IsValid() {
					t.Error("an invalid prefix")
				}
			}
		}
	})
}
