// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"sentinel/internal/audit"
)

func (d auditDocument) view(p *page) {
	tone := map[audit.Overall]tone{audit.OverallPass: calm, audit.OverallWarning: warn, audit.OverallFail: severe}[d.Overall]
	p.verdict(tone, string(d.Overall), fmt.Sprintf("Score %d of 100; %d of %s came to a verdict.", d.Score, d.Evaluated, counted(d.Applicable, "check")))
	p.line("")
	p.findings(d.findings(), d.ending)
	if !p.verbose {
		return
	}
	var rows [][]string
	for _, s := range d.Skipped {
		rows = append(rows, []string{s.Name, s.Reason})
	}
	p.table("Not checked", []column{{title: "check"}, {title: "because"}}, rows)
	p.gaps(d.Unavailable)
}

func (d auditDocument) findings() []finding {
	var list []finding
	for _, c := range d.Checks {
		if c.Status != audit.Pass {
			list = append(list, finding{verdictOf(c), c.Name + ": " + c.Value, newEvidence(c), c.Fix})
		}
	}
	return list
}

func verdictOf(c audit.Result) string { return string(c.Status) + " " + string(c.Severity) }

// newEvidence is what the value does not say already. Where it was seen is named once.
func newEvidence(c audit.Result) []string {
	var list []string
	last := ""
	for _, line := range c.Evidence {
		where, seen, found := strings.Cut(line, ": ")
		switch {
		case found && strings.Contains(c.Value, seen):
		case found && where == last:
			list = append(list, seen)
		default:
			list = append(list, line)
		}
		last = where
	}
	return list
}

// ending counts what is not shown.
func (d auditDocument) ending(p *page, rest []finding) {
	p.line("")
	if len(rest) > 0 {
		p.line("%d more: %s.", len(rest), tally(rest))
	}
	p.line("%s, %s.", passed(d.ChecksTotal-len(d.findings())), d.unchecked())
	if c := d.Changed; c != nil && len(c.New)+len(c.Fixed) > 0 {
		p.line("Since %s: %s.", whenText(c.Since), d.changes())
	}
	p.facts(p.unknown(d.Unavailable))
	if !p.verbose {
		p.seeAll("Everything, with what to do")
	}
}

func passed(n int) string {
	if n == 1 {
		return "1 check passes"
	}
	return fmt.Sprintf("%d checks pass", n)
}

// unchecked counts the checks without a verdict.
func (d auditDocument) unchecked() string {
	lost := d.Applicable - d.Evaluated
	return fmt.Sprintf("%d could not run, %d do not apply here", lost, max(0, len(d.Skipped)-lost))
}

// changes are those since the last audit.
func (d auditDocument) changes() string {
	var parts []string
	if len(d.Changed.New) > 0 {
		parts = append(parts, "worse "+strings.Join(d.Changed.New, ", "))
	}
	if len(d.Changed.Fixed) > 0 {
		parts = append(parts, "fixed "+strings.Join(d.Changed.Fixed, ", "))
	}
	return strings.Join(parts, "; ")
}

// tally counts findings by how bad they are, in their order.
func tally(list []finding) string {
	var order []string
	count := map[string]int{}
	for _, f := range list {
		if count[f.status]++; count[f.status] == 1 {
			order = append(order, f.status)
		}
	}
	var parts []string
	for _, status := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[status], status))
	}
	return strings.Join(parts, ", ")
}
