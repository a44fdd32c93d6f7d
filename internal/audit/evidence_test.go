// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// flood has what two users and root have, in the order in which a check found it, some of it of a thousand.
func flood() []Line {
	var lines []Line
	for i := range 1_000 {
		lines = append(lines, Line{fmt.Sprint("/home/mallory/", i), "mallory"})
	}
	return append(lines, Line{"/home/ana/1", "ana"}, Line{"/srv/.b", ""})
}

// Who can make any number of pieces of evidence hides nobody else's, and root's comes first in every form.
func TestEvidenceIsSharedBetweenOwners(t *testing.T) {
	source := list{finding("a.b", Low, 1, Failed("1002 programs", "repair").With(flood()...))}
	fair := []string{"/srv/.b", "/home/mallory/0", "/home/mallory/1", "/home/mallory/2", "/home/ana/1", "and 997 more"}
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"as it is": {Options{}, fair},
		"brief":    {Options{Brief: true}, []string{"/srv/.b", "and 1001 more"}},
	} {
		if diff := cmp.Diff(c.want, run(t, source, c.o).Checks[0].Evidence); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Who asks for everything gets all that a check kept, up to a bound that is shared as well.
func TestAWholeReportHasAllEvidence(t *testing.T) {
	all := Failed("many", "repair").With(flood()...)
	if got := run(t, list{finding("a.b", High, 1, all)}, Options{Whole: true}).Checks[0].Evidence; len(got) != 1_002 || got[0] != "/srv/.b" || got[1] != "/home/mallory/0" || got[1_001] != "/home/ana/1" {
		t.Errorf("%d pieces, the first %q", len(got), got[:min(len(got), 2)])
	}
	lines := slices.Repeat([]Line{{"m", "mallory"}}, maxWhole)
	apart := Failed("many", "repair").With(Line{"ana's", "ana"}).With(Line{"system", ""})
	if got := apart.shown(1); got[0] != "system" {
		t.Errorf("%q", got)
	}
	beyond := Failed("many", "repair").With(append(lines, Line{"a", "ana"}, Line{"r", ""})...)
	got := run(t, list{finding("a.b", High, 1, beyond)}, Options{Whole: true}).Checks[0].Evidence
	if n := len(got); n != maxWhole+1 || got[0] != "r" || got[n-2] != "a" || got[n-1] != "and 2 more" {
		t.Errorf("%d pieces, the last %q", n, got[max(0, n-3):])
	}
}
