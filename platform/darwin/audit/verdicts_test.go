// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
)

// Every check has a verdict, or the reason why there is none, on every machine:
// testdata/verdicts/FAMILY.golden.
func TestEachMacGetsTheVerdictsItDeserves(t *testing.T) {
	audittest.Verdicts(t, machines, checksOf(t))
}

// checksOf returns the checks of one of the Macs.
func checksOf(t *testing.T) func(name string) []audit.Check {
	return func(name string) []audit.Check { return New(parts(t, name)).Checks() }
}

// A check that always says the same checks nothing.
func TestEachCheckPassesHereAndNotThere(t *testing.T) {
	if n := audittest.BothWays(t, machines, checksOf(t)); n < 25 {
		t.Errorf("%d checks", n)
	}
}

// What is kept well is seen to be, and what is neglected too.
func TestMacsAreToldApart(t *testing.T) {
	for name, want := range map[string]audit.Overall{"m4-26": audit.OverallPass, "m4-26-user": audit.OverallPass, "intel-12": audit.OverallFail} {
		r, err := audit.Run(t.Context(), New(parts(t, name)), audit.Options{})
		if err != nil || r.Overall != want {
			t.Errorf("%s: %s, %v", name, r.Overall, err)
		}
		if name == "intel-12" && r.Score > 25 || name != "intel-12" && r.Score != 100 {
			t.Errorf("%s: score %d", name, r.Score)
		}
		t.Logf("%s: %s, score %d, coverage %.2f, %d of %d", name, r.Overall, r.Score, r.Coverage, r.Evaluated, r.Applicable)
	}
}

func TestEachFamilyIsInTheList(t *testing.T) { audittest.Listed(t, len(families())) }

func TestEachCheckIsDescribedWhole(t *testing.T) {
	audittest.Described(t, New(Parts{Root: t.TempDir()}).Checks())
}
