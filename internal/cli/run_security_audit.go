// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
	"sentinel/internal/prometheus"
)

// An auditDocument answers security_audit.
type auditDocument struct {
	answer.Header
	// FixNote says whose the commands in the fixes are. Without it, they are the reader's.
	FixNote string `json:"fix_note,omitempty"`
	audit.Report
}

// ofTheUser keeps a model that has a shell as well from taking the fixes for its own work.
const ofTheUser = "Commands in fix are for the user, at a shell of this machine."

// auditName is the file with the verdicts of the last run, in the state directory.
const auditName = "audit.json"

func runSecurityAudit(ctx context.Context, s session, call invocation) (document, error) {
	options := audit.Options{Exempt: s.config.Audit.Reasons(), Whole: call.rows == allRows || call.verbose || call.form == metricsForm, Brief: call.brief()}
	if call.form != metricsForm { // what a timer sees is no news to whoever asks what changed
		options.State = s.kept(auditName)
	}
	report, err := audit.Run(ctx, s.host.Audit, options)
	if err != nil {
		return nil, err
	}
	return auditDocument{Header: answer.NewHeader(call.op.Action, true), Report: report}, nil
}

func (d auditDocument) advise(f func(string) string) document {
	for i := range d.Checks {
		if d.Checks[i].Fix != "" {
			d.Checks[i].Fix, d.FixNote = f(d.Checks[i].Fix), ofTheUser
		}
	}
	return d
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
