// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// An Overall is the verdict on the machine.
type Overall string

// The verdicts, in the words of the specification.
const (
	OverallPass    Overall = "PASS"
	OverallWarning Overall = "WARNING"
	OverallFail    Overall = "FAIL"
)

// A Report is the outcome of an audit.
type Report struct {
	// Overall is FAIL if a check of severity high fails, WARNING if any check fails
	// or warns, otherwise PASS.
	Overall Overall `json:"overall_status"`
	// Score is the weighted share of the evaluated checks that passed, 0 to 100,
	// rounded down; a warning counts half.
	Score int `json:"score"`
	// Coverage is evaluated / applicable, 0 to 1, two decimals, rounded down.
	Coverage   float64 `json:"coverage"`
	Evaluated  int     `json:"evaluated"`  // checks with a verdict
	Applicable int     `json:"applicable"` // checks that apply to this machine
	// Checks are those with a verdict, the worst first. A brief answer has those that
	// do not pass.
	Checks      []Result `json:"checks"`
	ChecksTotal int      `json:"checks_total"` // with a verdict, before the list was cut
	// Truncated says that texts or checks were left out to keep the answer short.
	Truncated bool `json:"truncated,omitempty"`
	// PassedTotal counts the checks that pass, in a brief answer.
	PassedTotal *int      `json:"passed_total,omitempty"`
	Skipped     []Skipped `json:"skipped"` // checks that could not run or do not apply here; not in the score
	// NotApplicable has the IDs of the checks that do not apply here, which a brief answer leaves out of Skipped.
	NotApplicable []string    `json:"not_applicable,omitzero"`
	Changed       *Changed    `json:"changed,omitempty"`     // differences from the previous audit; absent without one
	Unavailable   answer.Gaps `json:"unavailable,omitempty"` // what else could not be read, and why
}

// A Result is a check with its verdict. A check that passes has only the first four members, and
// a brief answer leaves out what the ID and the value say.
type Result struct {
	ID          string   `json:"id"`                    // stable
	Name        string   `json:"name,omitempty"`        // of the check, for people; a brief answer has none
	Status      Status   `json:"status"`                // PASS, WARN or FAIL
	Value       string   `json:"value"`                 // what was found, in a few words
	Severity    Severity `json:"severity,omitempty"`    // high, medium or low: how much a failure matters
	Reference   string   `json:"reference,omitempty"`   // where the rule comes from
	Description string   `json:"description,omitempty"` // what the check looks at and why
	Evidence    []string `json:"evidence,omitempty"`    // where it was seen
	Fix         string   `json:"fix,omitempty"`         // what to do about it
}

// A Skipped is a check without a verdict.
type Skipped struct {
	ID     string `json:"id"`     // of the check
	Name   string `json:"name"`   // of the check, for people
	Reason string `json:"reason"` // why it has no verdict
}

// Bounds of texts, in runes.
const (
	maxValue  = 200
	maxFix    = 300
	maxReason = 160
	maxLine   = 160
)

// An outcome is a check with its finding.
type outcome struct {
	About
	Finding
}

// report summarizes the outcomes, which are in the order of the list, with so many pieces of evidence for each.
func report(outcomes []outcome, evidence int) Report {
	r := Report{Checks: []Result{}, Skipped: []Skipped{}}
	for _, o := range outcomes {
		if o.Status == "" {
			r.Skipped = append(r.Skipped, Skipped{o.ID, o.Name, sanitize.Text(o.Reason, maxReason)})
		} else {
			r.Checks = append(r.Checks, o.result(evidence))
		}
	}
	r.score(outcomes)
	worstFirst(r.Checks, outcomes)
	r.ChecksTotal = len(r.Checks)
	return r
}

func (o outcome) result(evidence int) Result {
	r := Result{ID: o.ID, Name: o.Name, Status: o.Status, Value: sanitize.Text(o.Value, maxValue)}
	if o.Status == Pass {
		return r
	}
	r.Severity, r.Reference, r.Description = o.Severity, o.Reference, o.Description
	r.Fix = sanitize.Text(o.Fix, maxFix)
	r.Evidence = o.shown(evidence)
	return r
}

// worstFirst sorts: what fails and is of severity high, then what is unusual, then the rest by verdict
// and severity. Among equals the unusual comes first, and then the order of the list decides.
func worstFirst(results []Result, outcomes []outcome) {
	rank := make(map[string]int, len(outcomes))
	for _, o := range outcomes {
		rank[o.ID] = o.rank()
	}
	slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(rank[a.ID], rank[b.ID]) })
}

func (o outcome) rank() int {
	rank := 100*slices.Index([]Status{Fail, Warn, Pass}, o.Status) + 10*slices.Index([]Severity{High, Medium, Low}, o.Severity)
	unusual := o.Unusual && o.Status != Pass
	if rank > 0 && !unusual {
		rank += 1000
	}
	if !unusual {
		rank++
	}
	return rank
}
