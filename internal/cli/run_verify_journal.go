// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
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
	kept, err := keptKey(call.args)
	if err != nil {
		return nil, err
	}
	report, err := s.verifyWith(ctx, call.args.Text("heads"), kept...)
	switch {
	case err != nil:
		return nil, err
	case call.form == metricsForm:
	case len(report.Problems) > 0:
		return nil, tampered(report)
	case logCut(report):
		return nil, notCompared(report)
	}
	return verifyDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

// keptKey returns the key that was kept elsewhere, if one is given.
func keptKey(args ops.Arguments) ([][]byte, error) {
	if _, given := args["key"]; !given {
		return nil, nil
	}
	key, err := base64.RawStdEncoding.DecodeString(args.Text("key"))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fault.New(fault.InvalidArgument, "The key is none that signs heads of a journal.").
			WithFix("Send the 43 characters that stand after key= in a line with a head")
	}
	if args.Text("heads") == "" {
		return nil, fault.New(fault.InvalidArgument, "--key goes with --heads: it says which signatures count there.").
			WithFix("Add --heads FILE, a log with heads that syslog kept")
	}
	return [][]byte{key}, nil
}

// logCut says that a log was not read to its end: nothing is known of the heads in the rest.
func logCut(r journal.Report) bool { return r.Announced != nil && r.Announced.Cut }

func notCompared(r journal.Report) error {
	return fault.New(fault.JournalFailed, "The journal is intact by itself, but not all of the log was compared with it: there is more than 256 MiB, or 200,000 different heads").
		WithFix("Take what is not about heads out first, such as: grep 'journal head seq=' LOG > heads.log; or give its newest part alone").
		WithObject(r)
}

// verifyWith verifies the journal, and compares it with a log, unless its name is "".
func (s session) verifyWith(ctx context.Context, log string, kept ...[]byte) (journal.Report, error) {
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
	return s.journal.Verify(ctx, f, kept...)
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
	defer d.viewAnnounced(p)
	if d.Records == 0 {
		p.verdict(calm, "EMPTY", "The journal has no records yet.")
		return
	}
	p.verdict(calm, "INTACT", fmt.Sprintf("%s, %d to %d, as written.", counted(d.Records, "record"), d.FirstSeq, d.LastSeq))
	if d.RotatedBefore > 0 {
		p.line("Records before %d were removed for their age.", d.RotatedBefore)
	}
	p.line("The newest hash is %s.", d.LastHash)
}

// viewAnnounced says what the log adds, and what it does not prove.
func (d verifyDocument) viewAnnounced(p *page) {
	if a := d.Announced; a != nil {
		p.line("%s of this machine in the log: each is that of its record.", counted(a.Signed-a.NotKept, "signed head"))
		if a.NotKept > 0 {
			p.line("%s of records that are not kept.", counted(a.NotKept, "more signed head"))
		}
		if a.First == 0 && d.RotatedBefore > 0 {
			p.line("No head there tells where the journal begins: that records were removed for their age is not proved.")
		}
		if n := a.Unsigned + a.Forged + a.UnknownKey; n > 0 {
			p.line("%s there may be from anybody: %d without a signature, %d with a wrong one, %d with a key that is not known here.", counted(n, "other head"), a.Unsigned, a.Forged, a.UnknownKey)
		}
	}
}

func (d verifyDocument) metrics(p *prometheus.Page) {
	moment(p, "sentinel_journal_verified_timestamp_seconds", "When the journal was verified, in seconds since 1970.", d.Header, 0)
	p.Add("sentinel_journal_intact", "Whether every record of the journal of changes is as it was written.", prometheus.Gauge, truth(d.ProblemsTotal == 0 && !logCut(d.Report)))
	p.Add("sentinel_journal_records", "Records in the journal of changes.", prometheus.Gauge, float64(d.Records))
}
