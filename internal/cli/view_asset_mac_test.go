// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"sentinel/internal/assets"
)

func TestAssetViewShowsWhatOnlyAMacHas(t *testing.T) {
	a := assets.Asset{
		Hardware: assets.Hardware{Cores: new(10), CoresPhysical: new(10), CoreKinds: []assets.Cores{{Name: "Performance", Cores: 4}, {Name: "Efficiency", Cores: 6}}},
		Security: assets.Security{SIPEnabled: new(false), Gatekeeper: "enabled", FileVault: "encrypting"},
	}
	var lines []string
	for _, row := range assetOverview(a) {
		lines = append(lines, strings.Join(row, "="))
	}
	got := strings.Join(lines, "|")
	if want := "hardware=10 cores (4 performance, 6 efficiency)|security=integrity protection no, Gatekeeper enabled, FileVault encrypting"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
