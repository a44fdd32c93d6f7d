// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
	"sentinel/internal/prometheus"
)

// An auditDocument answers security_audit.
type auditDocument struct {
	answer.Header
	audit.Report
}

// auditName is the file with the verdicts of the last run, in the state directory.
const auditName = "audit.json"

func runSecurityAudit(ctx context.Context, s session, call invocation) (document, error) {
	options := audit.Options{Exempt: s.config.Audit.Reasons(), Whole: call.rows == allRows || call.form == metricsForm}
	if s.root && s.host.Live && call.form != metricsForm { // what a timer sees is no news to whoever asks what changed
		options.State = filepath.Join(s.stateDir, auditName)
	}
	report, err := audit.Run(ctx, s.host.Audit, options)
	if err != nil {
		return nil, err
	}
	return auditDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

func (d auditDocument) view(p *page) {
	tone := map[audit.Overall]tone{audit.OverallPass: calm, audit.OverallWarning: warn, audit.OverallFail: severe}[d.Overall]
	p.verdict(tone, string(d.Overall), fmt.Sprintf("Score %d of 100; %d of %d checks came to a verdict.", d.Score, d.Evaluated, d.Applicable))
	var rows [][]string
	for _, c := range d.Checks {
		if c.Status != audit.Pass {
			rows = append(rows, []string{string(c.Status), string(c.Severity), c.Name, c.Value})
		}
	}
	p.table("To look at", []column{{title: "status"}, {title: "severity"}, {title: "check"}, {title: "seen"}}, rows)
	d.fixes(p)
	if n := d.ChecksTotal - len(rows); n > 0 {
		p.line("")
		p.line("%d checks pass; --json lists them.", n)
	}
	rows = nil
	for _, s := range d.Skipped {
		rows = append(rows, []string{s.Name, s.Reason})
	}
	p.table("Not checked", []column{{title: "check"}, {title: "because"}}, rows)
	p.gaps(d.Unavailable)
}

// fixes prints what to do, the worst first, and each fix once.
func (d auditDocument) fixes(p *page) {
	shown := map[string]bool{}
	for _, c := range d.Checks {
		if c.Fix == "" || shown[c.Fix] {
			continue
		}
		shown[c.Fix] = true
		p.line("")
		p.line("%s: %s", c.Name, c.Fix)
	}
}

// metrics does not name the checks that fail: whoever may scrape a host need not know its weak points.
func (d auditDocument) metrics(p *prometheus.Page) {
	moment(p, "sentinel_audit_timestamp_seconds", "When the audit ran, in seconds since 1970.", d.Header, 0)
	p.Add("sentinel_audit_score_ratio", "Weighted share of the checks that passed; a warning counts half.", prometheus.Gauge, float64(d.Score)/100)
	p.Add("sentinel_audit_coverage_ratio", "Share of the checks that apply to this host and came to a verdict.", prometheus.Gauge, d.Coverage)
	verdicts, failures := map[audit.Status]int{}, map[audit.Severity]int{}
	for _, c := range d.Checks {
		verdicts[c.Status]++
		if c.Status == audit.Fail {
			failures[c.Severity]++
		}
	}
	for _, status := range []audit.Status{audit.Pass, audit.Warn, audit.Fail} {
		p.Add("sentinel_audit_checks", "Checks with this verdict.", prometheus.Gauge, float64(verdicts[status]), prometheus.Label{Name: "status", Value: string(status)})
	}
	for _, severity := range []audit.Severity{audit.High, audit.Medium, audit.Low} {
		p.Add("sentinel_audit_failures", "Checks that failed, by how much that matters.", prometheus.Gauge, float64(failures[severity]), prometheus.Label{Name: "severity", Value: string(severity)})
	}
}
