// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
)

// Warnings returns what the writer of a file may not have meant: where the first gateway, whose
// first rule that matched decided, would have decided otherwise.
func (p *Policy) Warnings() (warnings []Problem) {
	for i := range p.Rules {
		early := &p.Rules[i]
		if early.Action == Log {
			continue
		}
		for k := i + 1; k < len(p.Rules); k++ {
			late := &p.Rules[k]
			if (early.original || late.original) && late.Action != Log && late.Action > early.Action && early.meets(late) {
				warnings = append(warnings, Problem{File: p.File, Line: late.Line, Text: fmt.Sprintf(
					"the rule %q (%s) wins over the rule %q (%s) of line %d, which stands above it: the most severe rule decides, no longer the first that matches",
					late.Name, late.Action, early.Name, early.Action, early.Line)})
				break
			}
		}
	}
	return warnings
}

// meets says whether some call may be one of both rules.
func (r *Rule) meets(other *Rule) bool {
	return slices.ContainsFunc(r.tools, func(g toolGlob) bool { return slices.ContainsFunc(other.tools, g.overlaps) })
}
