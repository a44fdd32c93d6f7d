// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"os"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/firewall"
)

func (p packetFilter) Firewall(context.Context) firewall.Facts { return p.facts }

// source is the checks of a machine, as root.
func source(t testing.TB, name string) *Source {
	t.Helper()
	return New(withHostState(name, Parts{Root: build(t, name), Firewall: packetFilter{rules[name]}, Owner: os.Geteuid()}))
}

// Every check has a verdict, or the reason why there is none, on every machine:
// testdata/verdicts/FAMILY.golden.
func TestEachMachineGetsTheVerdictsItDeserves(t *testing.T) {
	audittest.Verdicts(t, machines, checksOf(t))
}

// checksOf returns the checks of a machine, as root.
func checksOf(t *testing.T) func(name string) []audit.Check {
	return func(name string) []audit.Check { return source(t, name).Checks() }
}

// A check that always says the same checks nothing.
func TestEachCheckPassesHereAndNotThere(t *testing.T) {
	audittest.BothWays(t, machines, checksOf(t))
}

// A function that returns checks and is not in the list would be forgotten.
func TestEachFamilyIsInTheList(t *testing.T) { audittest.Listed(t, len(families())) }

func TestEachCheckIsDescribedWhole(t *testing.T) {
	audittest.Described(t, New(Parts{Root: t.TempDir()}).Checks())
}
