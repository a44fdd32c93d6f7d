// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/platform/darwin/pfctl"
)

// Of the main rulesets that were recorded, each leads to the own anchor; what
// was recorded of other anchors does not.
func TestRecordedRulesets(t *testing.T) {
	leads := map[string]bool{
		"all-enabled-8days-2020.txt": true, "anchor-rules-com.apple.txt": false, "anchor-rules-alf-stealth.txt": false,
		"anchor-rules-airdrop.txt": false, "anchor-wildcard-invalid-argument.txt": false, "not-root.txt": false,
	}
	for _, r := range testenv.RecordedOutputs(t, "pfctl") {
		ahead, why := rulesBefore(pfctl.ParseRules(r.Raw))
		if want, known := leads[r.Name]; known && (why.none() != want || len(ahead) != 0) {
			t.Errorf("%s: %+v after %v, want %v", r.Name, why, ahead, want)
		}
	}
	for _, r := range testenv.RecordedOutputs(t, "etc-pf.conf") {
		rules := strings.ReplaceAll(string(r.Raw), "/*\"", "/*\" all") // as pfctl lists what it loaded
		if _, why := rulesBefore(pfctl.ParseRules([]byte(rules))); why.none() != strings.Contains(rules, "\nanchor \"com.apple/*\"") {
			t.Errorf("%s: %+v", r.Name, why)
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add(strings.Join(stock, "\n"))
	f.Add(strings.Join([]string{`anchor "vpn/*" quick all`, "pass quick on lo0 all", `anchor "com.apple/*" all`}, "\n"))
	f.Add(ownRules)
	f.Fuzz(func(t *testing.T, text string) {
		rules := pfctl.ParseRules([]byte(text))
		ahead, why := rulesBefore(rules)
		if !why.none() && ahead != nil || why.fault() == nil != why.none() {
			t.Errorf("%q: %v %+v", text, ahead, why)
		}
		if rulesInPlace(rules) && !strings.Contains(text, "<sentinel") {
			t.Errorf("%q is in place", text)
		}
		rulesInside(jump{name: "x"}, rules)
	})
}
