// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
)

// exempted begins the reason of a check that the configuration exempts.
const exempted = "exempt: "

// brief leaves out what a reader can do without who looks for what is wrong:
// of checks that pass only their number stays, of those that do not apply the ID, and of the others
// all but their title, and what says the same twice. Nothing more is left out of what fails, or could not
// be seen.
func (r *Report) brief(outcomes []outcome) {
	r.NotApplicable = []string{}
	r.Checks = slices.DeleteFunc(r.Checks, func(c Result) bool { return c.Status == Pass })
	r.PassedTotal = new(r.ChecksTotal - len(r.Checks))
	for _, o := range outcomes {
		if o.Status == "" && !o.Applies && !strings.HasPrefix(o.Reason, exempted) {
			r.NotApplicable = append(r.NotApplicable, o.ID)
		}
	}
	r.Skipped = slices.DeleteFunc(r.Skipped, func(s Skipped) bool { return slices.Contains(r.NotApplicable, s.ID) })
	for i := range r.Checks {
		r.Checks[i].brief()
	}
	onceEach(r.Checks)
}

// kernel begins the evidence that only says that the kernel told the value.
var kernel = []string{"sysctl: ", "/proc: ", "/proc/self/mountinfo: "}

// brief shortens a check that does not pass: what the value says already goes.
func (c *Result) brief() {
	c.Name, c.Description, c.Reference = "", "", ""
	c.Evidence = slices.DeleteFunc(c.Evidence, func(line string) bool {
		_, seen, found := strings.Cut(line, ": ")
		return found && strings.Contains(c.Value, seen) || slices.ContainsFunc(kernel, func(source string) bool { return strings.HasPrefix(line, source) })
	})
	if c.Severity == Low {
		c.Evidence = firstOnly(c.Evidence)
	}
}

// minEnd is the shortest end of a fix that is not said again, in bytes: to name
// the check that has it takes half of that.
const minEnd = 50

// onceEach leaves the common end of several fixes, such as how a file comes
// into force, to the first that has it.
func onceEach(checks []Result) {
	whole := make([]string, len(checks))
	for i, c := range checks {
		whole[i] = c.Fix
		for j := range i {
			if at := len(c.Fix) - commonEnd(whole[j], c.Fix); len(c.Fix)-at >= minEnd {
				checks[i].Fix = c.Fix[:at] + " … as for " + checks[j].ID
				break
			}
		}
	}
}

// commonEnd returns how many bytes at the end of both texts are the same, from
// a space before a word on: the value of a setting stays with its name.
func commonEnd(a, b string) int {
	n, words := 0, 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		if n++; n > 1 && a[len(a)-n] == ' ' && 'a' <= a[len(a)-n+1] && a[len(a)-n+1] <= 'z' {
			words = n
		}
	}
	return words
}
