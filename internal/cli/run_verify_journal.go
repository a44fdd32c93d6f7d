// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

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
	report, err := s.verifyWith(ctx, call.args.Text("heads"))
	if err != nil {
		return nil, err
	}
	if len(report.Problems) > 0 && call.form != metricsForm {
		return nil, tampered(report)
	}
	return verifyDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

// verifyWith verifies the journal, and compares it with a log, unless its name is "".
func (s session) verifyWith(ctx context.Context, log string) (journal.Report, error) {
	if log == "" {
		return s.journal.Verify(ctx, nil)
	}
	f, err := os.OpenFile(log, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return journal.Report{}, noLog(err)
	}
	defer f.Close() //nolint:errcheck // only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return journal.Report{}, noLog(cmp.Or(err, errors.New("it is no file")))
	}
	return s.journal.Verify(ctx, f)
}

func noLog(err error) error {
	return fault.Wrap(fault.InvalidArgument, "The log with the heads cannot be read", err).
		WithFix("Write it to a file first, such as: journalctl -o cat -t sentinel > heads.log")
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
		WithFix("Keep a copy of /var/log/sentinel, find out who was root, and compare with what syslog sent elsewhere: sudo sentinel --verify-journal --heads FILE").
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
	p.line("The newest hash is %s.", d.LastHash)
	if a := d.Announced; a != nil {
		p.line("%s of this machine in the log: each is that of its record.", counted(a.Signed, "signed head"))
		if n := a.Unsigned + a.Forged + a.UnknownKey; n > 0 {
			p.line("%s there may be from anybody: %d without a signature, %d with a wrong one, %d with a key that is not known here.", counted(n, "other head"), a.Unsigned, a.Forged, a.UnknownKey)
		}
	}
}

func (d verifyDocument) metrics(p *prometheus.Page) {
	moment(p, "sentinel_journal_verified_timestamp_seconds", "When the journal was verified, in seconds since 1970.", d.Header, 0)
	p.Add("sentinel_journal_intact", "Whether every record of the journal of changes is as it was written.", prometheus.Gauge, truth(d.ProblemsTotal == 0))
	p.Add("sentinel_journal_records", "Records in the journal of changes.", prometheus.Gauge, float64(d.Records))
}
