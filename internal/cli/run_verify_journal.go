// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/journal"
	"sentinel/internal/prometheus"
)

// A verifyDocument answers --verify-journal.
type verifyDocument struct {
	answer.Header
	journal.Report
}

// runVerifyJournal fails if something is wrong, so that a script notices. Metrics say so
// themselves, and a failure would leave the page of the time when all was well.
func runVerifyJournal(ctx context.Context, s session, call invocation) (document, error) {
	report, err := s.journal.Verify(ctx)
	if err != nil {
		return nil, err
	}
	if len(report.Problems) > 0 && call.form != metricsForm {
		return nil, tampered(report)
	}
	return verifyDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

func tampered(r journal.Report) error {
	first := r.Problems[0]
	at := ""
	switch {
	case first.Line > 0:
		at = first.File + " line " + strconv.Itoa(first.Line) + ": "
	case first.File != "":
		at = first.File + ": "
	}
	return fault.New(fault.JournalFailed, "The journal was damaged or tampered with, in "+counted(r.ProblemsTotal, "place")+"; the first: "+at+first.Message).
		WithFix("Keep a copy of /var/log/sentinel, find out who was root, and compare with what syslog kept: journalctl -t sentinel _UID=0").
		WithObject(r)
}

func (d verifyDocument) view(p *page) {
	if d.Records == 0 {
		p.verdict(calm, "EMPTY", "The journal has no records yet.")
		return
	}
	p.verdict(calm, "INTACT", fmt.Sprintf("%s, %d to %d, as written.", counted(d.Records, "record"), d.FirstSeq, d.LastSeq))
	if d.RotatedBefore > 0 {
		p.line("Records before %d were removed for their age.", d.RotatedBefore)
	}
	p.line("The newest hash is %s; syslog has it too.", d.LastHash)
}

func (d verifyDocument) metrics(p *prometheus.Page) {
	moment(p, "sentinel_journal_verified_timestamp_seconds", "When the journal was verified, in seconds since 1970.", d.Header, 0)
	p.Add("sentinel_journal_intact", "Whether every record of the journal of changes is as it was written.", prometheus.Gauge, truth(d.ProblemsTotal == 0))
	p.Add("sentinel_journal_records", "Records in the journal of changes.", prometheus.Gauge, float64(d.Records))
}
