// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/doctor"
)

func (d doctorDocument) view(p *page) {
	seen := fmt.Sprintf("%s, %s, %s.", counted(len(d.Checks), "check"), counted(d.Problems, "problem"), counted(d.Warnings, "warning"))
	switch {
	case d.Problems > 0:
		p.verdict(severe, "PROBLEM", seen)
	case d.Warnings > 0:
		p.verdict(warn, "WARNING", seen)
	default:
		p.verdict(calm, "OK", seen)
	}
	p.line("")
	p.findings(d.findings(), d.ending)
}

// findings are the checks that are not ok, the worst first.
func (d doctorDocument) findings() []finding {
	var list []finding
	for _, status := range []string{doctor.Problem, doctor.Warning, doctor.Unknown} {
		for _, c := range d.Checks {
			if c.Status != status {
				continue
			}
			f := finding{status: c.Status, message: c.Name + ": " + c.Value, fix: c.Fix}
			if len(c.Tools) > 0 {
				f.behind = []string{"Tools: " + strings.Join(c.Tools, ", ")}
			}
			list = append(list, f)
		}
	}
	return list
}

// ending names what is ok, and what there was no room for.
func (d doctorDocument) ending(p *page, rest []finding) {
	if len(rest) > 0 {
		p.line("")
		p.seeAll(fmt.Sprintf("%d more of %d", len(rest), len(d.findings())))
	}
	var fine [][]string
	for _, c := range d.Checks {
		if c.Status == doctor.OK {
			fine = append(fine, []string{c.Name, c.Value})
		}
	}
	if p.verbose || len(fine) == 0 {
		p.facts(fine)
		return
	}
	var names []string
	for _, row := range fine {
		names = append(names, row[0])
	}
	p.facts([][]string{{doctor.OK, strings.Join(slices.Compact(names), ", ")}})
}
