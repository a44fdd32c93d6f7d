// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNothingPassesOverAListThatIsNotWhole(t *testing.T) {
	for _, f := range []struct{ found, whole, cut Finding }{
		{Passed("None"), Passed("None"), Unseen("more than 2")},
		{NotApplicable("nothing is here"), NotApplicable("nothing is here"), Unseen("more than 2")},
		{Unseen("locked"), Unseen("locked"), Unseen("locked")},
		{Warned("1 port", "Stop it.", "22/tcp"), Warned("1 port", "Stop it.", "22/tcp"), Warned("1 port; not all was read: more than 2", "Stop it.", "22/tcp")},
		{Failed("telnet", "Stop it."), Failed("telnet", "Stop it."), Failed("telnet; not all was read: more than 2", "Stop it.")},
	} {
		judge := func(seen []int) Finding {
			if diff := cmp.Diff([]int{1, 2}, seen); diff != "" {
				t.Errorf("judged (-want +got):\n%s", diff)
			}
			return f.found
		}
		for rest, want := range map[string]Finding{"": f.whole, "more than 2": f.cut} {
			odd := ListOf([]int{1, 2, 3}, rest).Find(func(n int) bool { return n < 3 })
			if diff := cmp.Diff(want, odd.Judge(judge)); diff != "" {
				t.Errorf("%+v with the rest %q (-want +got):\n%s", f.found, rest, diff)
			}
		}
	}
}
