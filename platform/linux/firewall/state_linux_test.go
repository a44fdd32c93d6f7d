// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"slices"
	"strings"
	"testing"

	"sentinel/internal/firewall"
)

func TestDefinitionIsReadStrictly(t *testing.T) {
	for text, want := range map[string][]firewall.Port{
		`{"version":1,"allow":["22/tcp","51820/udp"]}`: {tcp(22), udp(51820)},
		`{"version":1,"allow":[]}`:                     {},
	} {
		if got, err := parseState([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	many := `{"version":1,"allow":[` + strings.TrimSuffix(strings.Repeat(`"22/tcp",`, maxPorts+1), ",") + `]}`
	for _, text := range []string{
		"", "{", "null", "[]", `{}`, `{"version":1}`, `{"version":2,"allow":[]}`, `{"version":1,"allow":null}`, `{"version":1,"allow":["22"]}`,
		`{"version":1,"allow":["0/tcp"]}`, `{"version":1,"allow":["022/tcp"]}`, `{"version":1,"allow":["+22/tcp"]}`, `{"version":1,"allow":["22/tcp"],"x":1}`,
		`{"version":1,"allow":["22/tcp"]}{}`, `{"version":1,"allow":["22/tcp"]} x`, many,
	} {
		if got, err := parseState([]byte(text)); err == nil {
			t.Errorf("%.60s: %v", text, got)
		}
	}
}

func FuzzDefinition(f *testing.F) {
	f.Add([]byte(`{"version":1,"allow":["22/tcp"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ports, err := parseState(raw)
		if err != nil {
			return
		}
		for _, p := range ports {
			if p.Number == 0 || p.Protocol != "tcp" && p.Protocol != "udp" {
				t.Errorf("%v", p)
			}
		}
	})
}
