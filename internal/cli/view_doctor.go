// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
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
		p.verdict(calm, "WELL", seen)
	}
	var rows [][]string
	for _, c := range d.Checks {
		rows = append(rows, []string{c.Status, c.Name, c.Value})
	}
	p.table("", []column{{title: "status"}, {title: "what"}, {title: "seen"}}, rows)
	d.fixes(p)
}

// fixes prints each fix in full, because a command that was cut is useless, and
// only once when it is for several findings.
func (d doctorDocument) fixes(p *page) {
	said := map[string]bool{}
	for _, c := range d.Checks {
		if c.Fix == "" || c.Status == doctor.OK || said[c.Fix] {
			continue
		}
		said[c.Fix] = true
		p.line("")
		p.line("%s: %s", c.Name, c.Value)
		if len(c.Tools) > 0 {
			p.line("Tools: %s", strings.Join(c.Tools, ", "))
		}
		p.fix(c.Fix)
	}
}
