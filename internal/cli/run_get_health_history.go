// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/recorder"
)

// maxHealthHistory is what a health history for a program is cut to, in bytes.
const maxHealthHistory = 8_000

// A healthHistoryDocument answers get_health_history.
type healthHistoryDocument struct {
	answer.Header
	recorder.History
	figure string // that was asked for
}

func (d *healthHistoryDocument) asked(args ops.Arguments) {
	d.figure = cmp.Or(d.figure, args.Text("figure"))
}

func historyRequest(call invocation) recorder.Request {
	a := call.args
	return recorder.Request{At: a.Text("at"), Since: a.Text("since"), Until: a.Text("until"), Figure: a.Text("figure")}
}

func formOfHealthHistory(s session, call invocation) error {
	_, _, err := historyRequest(call).Span(s.host.Now())
	return err
}

// historyGC has a run that reads weeks of samples hold less memory at the price of processor time: most of
// what is read is gone again at once.
const historyGC = 25

func runHealthHistory(ctx context.Context, s session, call invocation) (document, error) {
	debug.SetGCPercent(historyGC)
	request := historyRequest(call)
	now := s.host.Now()
	since, until, err := request.Span(now)
	if err != nil {
		return nil, err
	}
	recording, err := s.recording(ctx, now, since, until)
	if err != nil {
		return nil, err
	}
	gaps := answer.Gaps{}
	actions := s.actionsBetween(ctx, since, until, &gaps)
	d := &healthHistoryDocument{answer.NewHeader(call.op.Action, true), recorder.Tell(recording, request.Figure, since, until, actions, call.rows), request.Figure}
	d.Unavailable = append(d.Unavailable, gaps...)
	if call.request {
		d.fit()
	}
	return d, nil
}

// recording reads the samples that are needed to tell of a time. Where there are none at all it says how to
// have some.
func (s session) recording(ctx context.Context, now, since, until time.Time) (recorder.Recording, error) {
	r := recorder.Recording{Now: now, Since: since, Until: until}
	up, err := s.host.Health.Uptime(ctx)
	if boot, unknown := s.boot(); err == nil && unknown == nil {
		r.Boot, r.Up = boot, up
	}
	r.Damaged, err = recorder.NewRing(s.recordings()).Records(r.AddRecord)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return r, fault.Wrap(fault.Unavailable, "The samples of the recorder cannot be read", err)
	case r.Len() == 0:
		return r, s.noRecorder()
	}
	return r, nil
}

func (s session) noRecorder() error {
	e := fault.New(fault.Unavailable, "Nothing was recorded on this machine: its recorder does not run.")
	if !s.config.Record.Enabled {
		const fix = "The administrator of this machine can switch it on in /etc/sentinel/config.yaml with record: {enabled: true}."
		return e.WithFix(fix).WithToolFix(fix)
	}
	fix, how := "Switch it on with: "+s.host.Recorder.Start, "switch on "+s.host.Recorder.Job+", which takes a sample each minute"
	if s.host.Recorder.Start == "" {
		fix, how = "Have cron run as root each minute: sentinel --record", "have cron run sentinel --record as root each minute"
	}
	return e.WithFix(fix).
		WithToolFix("Its administrator can " + how + " from then on; of the time before nothing is known here. get_logs may still tell of it.")
}

// actionsBetween lists what sentinel changed on this machine. What it only sent is left out: a report goes out
// every few minutes, and a client may send as often as it likes.
func (s session) actionsBetween(ctx context.Context, since, until time.Time, gaps *answer.Gaps) []recorder.Change {
	h, err := s.journal.Between(ctx, journal.Span{Since: since, Until: until, Wanted: changesMachine}, s.alive)
	gaps.Add("changes", err)
	noteMissing(h, gaps)
	var list []recorder.Change
	for _, a := range h.Actions {
		list = append(list, recorder.NewAction(a.Time, actionText(a)))
	}
	return list
}

// changesMachine reports whether a tool changes this machine; one of another version may.
func changesMachine(tool string) bool {
	return !slices.ContainsFunc(ops.Actions(), func(op ops.Operation) bool { return op.Name == tool && !op.Changes() })
}

// noteMissing says which actions may not be in a history.
func noteMissing(h journal.History, gaps *answer.Gaps) {
	if n := len(h.Actions); h.Truncated && n > 0 {
		gaps.Note("changes", "Sentinel did more than is looked through: what it did before "+h.Actions[n-1].Time.Format(time.RFC3339)+" is not told")
	}
	if h.Unreadable > 0 {
		gaps.Note("changes", humanize.Count(h.Unreadable, "line of the journal is", "lines of the journal are")+" damaged or were changed")
	}
	if h.Damage != "" {
		gaps.Note("changes", h.Damage)
	}
}

func actionText(a journal.Action) string {
	text := a.Tool
	if object := objectText(a); object != "-" {
		text += " " + object
	}
	return fmt.Sprintf("Sentinel: %s, by %s: %s.", text, named(a.Who), a.State)
}

// fit leaves out what matters least until the document is small enough.
func (d *healthHistoryDocument) fit() {
	for {
		raw, err := encode(d, false)
		if err != nil || len(raw) <= maxHealthHistory {
			return
		}
		switch {
		case d.figure == "" && len(d.Series) > 1:
			d.Series = d.Series[:1]
		case len(d.Changes) > 10:
			d.KeepChanges(len(d.Changes) - 1)
		case d.figure == "" && len(d.Series) > 0:
			d.Series = d.Series[:0]
		case len(d.Gaps) > 3:
			d.Gaps = d.Gaps[1:]
		case len(d.Changes) > 0:
			d.KeepChanges(len(d.Changes) - 1)
		default:
			return
		}
	}
}

func (d *healthHistoryDocument) view(p *page) {
	d.verdict(p)
	d.viewSeries(p)
	room := -1
	if p.height > 0 && !p.verbose {
		room = p.height - 2 - p.rows(p.b.Bytes()) - p.rowsOf(d.ending)
	}
	d.viewChanges(p, room)
	d.ending(p)
}

func (d *healthHistoryDocument) verdict(p *page) {
	span := fmt.Sprintf("from %s to %s", whenText(d.Since), whenText(d.Until))
	switch {
	case d.Samples == 0:
		p.verdict(warn, "UNKNOWN", "There is no sample "+span+".")
	case len(d.Changes) == 0:
		p.verdict(calm, "STEADY", "Nothing stands out "+span+", in "+counted(d.Samples, "sample")+".")
	default:
		p.verdict(calm, "HISTORY", counted(d.ChangesTotal, "change")+" "+span+", in "+counted(d.Samples, "sample")+".")
	}
}

// viewChanges shows the changes that matter most, as many as there are rows for.
func (d *healthHistoryDocument) viewChanges(p *page, room int) {
	shown := recorder.History{Changes: slices.Clone(d.Changes)}
	write := func(inner *page) {
		for _, c := range shown.Changes {
			inner.item("%s", c.Text)
		}
	}
	for room >= 0 && len(shown.Changes) > 1 && p.rowsOf(write) > room-2 {
		shown.KeepChanges(len(shown.Changes) - 1)
	}
	if len(shown.Changes) > 0 {
		p.line("")
	}
	write(p)
	if rest := d.ChangesTotal - len(shown.Changes); rest > 0 {
		p.line("%d more that matter less.", rest)
	}
}

// How many rows the course of a figure has on a screen, as there is room, and how many are left to changes at least.
const (
	screenBuckets = 8
	leastBuckets  = 4
	leastChanges  = 6
)

// buckets is how many of a figure there is room for.
func (d *healthHistoryDocument) buckets(p *page) int {
	const around = 4 // the title, the names of columns, and empty rows
	return min(screenBuckets, max(leastBuckets, p.height-2-p.rows(p.b.Bytes())-p.rowsOf(d.ending)-leastChanges-around))
}

// viewSeries shows the course of the figure that was asked for.
func (d *healthHistoryDocument) viewSeries(p *page) {
	if d.figure == "" {
		return
	}
	for _, s := range d.Series {
		var rows [][]string
		if p.height > 0 && !p.verbose {
			s = s.Coarser(d.buckets(p))
		}
		for _, b := range s.Buckets {
			rows = append(rows, []string{clockText(b.Time), number(b.Min), number(b.Mean), number(b.Max)})
		}
		p.table(strings.TrimSuffix(s.Figure+", "+s.Unit, ", "), []column{{title: "from", whole: true}, {title: "least", right: true}, {title: "mean", right: true}, {title: "most", right: true}}, rows)
	}
}

// ending is what follows the changes: what is not known, and what leads on.
func (d *healthHistoryDocument) ending(p *page) {
	d.viewFigures(p)
	shown := d.Gaps
	if !p.verbose {
		shown = shown[max(0, len(shown)-1):]
	}
	for _, g := range shown {
		p.line("Nothing is known from %s to %s: %s.", whenText(g.From), whenText(g.To), g.Reason)
	}
	if rest := d.GapsTotal - len(shown); rest > 0 {
		p.line("%s before that.", humanize.Count(rest, "more gap", "more gaps"))
	}
	p.gaps(d.Unavailable)
	if d.figure == "" && len(d.Series) > 0 {
		p.line("")
		p.fix("The course of a figure: sudo sentinel --health-history --since " + d.Since + " --figure " + d.Series[0].Figure)
	}
}

func (d *healthHistoryDocument) viewFigures(p *page) {
	if !p.verbose {
		return
	}
	var rows [][]string
	for _, f := range d.Figures {
		rows = append(rows, []string{f.Figure, number(f.Min), number(f.Mean), number(f.Max), clockText(f.MaxAt), f.Unit})
	}
	p.table("Figures", []column{{title: "figure"}, {title: "least", right: true}, {title: "mean", right: true}, {title: "most", right: true}, {title: "at", whole: true}, {title: "unit"}}, rows)
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
