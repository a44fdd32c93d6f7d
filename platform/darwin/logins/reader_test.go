// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/logins"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
)

// last(1) prints where the records begin only if it gets there.
func TestLoginsOfOneUserHideNobody(t *testing.T) {
	eve := strings.Repeat("eve        ttys003                         Fri Nov 20 09:12 - 09:13  (00:01)\n", 300)
	mira := "mira       ttys001                         Thu Nov 19 08:12 - 09:00  (00:48)\n"
	for what, c := range map[string]struct{ out, note string }{
		"all":  {eve + mira + "\nwtmp begins Sat Oct 11 10:00\n", ""},
		"some": {eve + mira, "what last(1) has before 2026-11-19T08:12:00Z is more than is read, or in another form, and not counted"},
	} {
		runner := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(c.out)}}}
		list, notes, err := New("/", runner, func() time.Time { return now }).Past(t.Context())
		var said string
		for _, n := range notes {
			said += n.Reason
		}
		if !slices.Equal(runner.Ran, []string{"/usr/bin/last -5000"}) {
			t.Errorf("%s: ran %q", what, runner.Ran)
		}
		if err != nil || len(list) != 301 || said != c.note || !slices.ContainsFunc(list, func(r logins.Record) bool { return r.User == "mira" }) {
			t.Errorf("%s: %v, %d logins, %q", what, err, len(list), said)
		}
	}
}
