// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/logs"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
)

// mostLogs bounds an answer to a program that asked for more rows than usual, in bytes.
const mostLogs = 12_000

// A logsDocument answers get_logs.
type logsDocument struct {
	answer.Header
	logs.Report
	raw bool
}

func (d *logsDocument) asked(args ops.Arguments) { d.raw = d.raw || args.Bool("raw") }

func runLogs(ctx context.Context, s session, call invocation) (document, error) {
	request := logsRequest(call)
	progress.Say(ctx, 5, "reading the logs")
	report, err := logs.Read(ctx, s.host.Logs, request, s.host.Now())
	if err != nil {
		return nil, err
	}
	d := &logsDocument{answer.NewHeader(call.op.Action, true), *report, request.Raw}
	if call.request {
		size := usualAnswer
		if request.Rows > logs.DefaultRows {
			size = mostLogs
		}
		d.fit(size)
	}
	return d, nil
}

func logsRequest(call invocation) logs.Request {
	a := call.args
	r := logs.Request{
		Unit: a.Text("unit"), Since: a.Text("since"), Until: a.Text("until"), Priority: a.Text("priority"), Text: a.Text("text"), Raw: a.Bool("raw"),
		Rows: call.capped(logs.DefaultRows),
	}
	if call.request {
		r.Rows = a.Int("limit")
	}
	return r
}

func formOfLogs(s session, call invocation) error {
	return logsRequest(call).Form(s.host.Logs, s.host.Now())
}

// fit leaves out what matters least, or the oldest lines, until the document is small enough.
func (d *logsDocument) fit(size int) {
	fit(d, size, func() bool {
		if len(d.Patterns)+len(d.Lines) <= 1 {
			return false
		}
		d.Patterns, d.Lines, d.Truncated = fewer(d.Patterns), d.Lines[(len(d.Lines)+9)/10:], true
		return true
	})
}

func (d *logsDocument) view(p *page) {
	d.verdict(p)
	if d.raw {
		d.viewLines(p)
	} else {
		d.viewPatterns(p)
	}
	if d.Boots > 1 {
		p.line("")
		p.line("The machine was started anew in between: the newest of %d boots begins at %s.", d.Boots, whenText(d.BootedBefore))
	}
	p.gaps(d.Unavailable)
	d.next(p)
}

// verdict says how much there is and how bad it is.
func (d *logsDocument) verdict(p *page) {
	span := fmt.Sprintf("from %s to %s", whenText(d.Since), whenText(d.Until))
	of := ""
	if d.Unit != "" {
		of = " of " + d.Unit
	}
	switch {
	case d.LinesTotal == nil:
		p.verdict(warn, "UNKNOWN", "No line"+of+" was found, and not everything could be read, "+span+".")
	case *d.LinesTotal == 0:
		p.verdict(calm, "LOGS", "No line"+of+" matches, "+span+".")
	case d.raw:
		p.verdict(calm, "LOGS", fmt.Sprintf("The newest %d of %s%s, %s.", len(d.Lines), counted(*d.LinesTotal, "line"), of, span))
	case d.ErrorsTotal == nil:
		p.verdict(warn, "LOGS", fmt.Sprintf("%s%s in %s, none an error, and not everything could be read, %s.", counted(*d.LinesTotal, "line"), of, counted(d.PatternsTotal, "pattern"), span))
	case *d.ErrorsTotal > 0:
		p.verdict(warn, "ERRORS", fmt.Sprintf("%s%s in %s, %s, %s.", counted(*d.LinesTotal, "line"), of, counted(d.PatternsTotal, "pattern"), errorsText(*d.ErrorsTotal), span))
	default:
		p.verdict(calm, "LOGS", fmt.Sprintf("%s%s in %s, none an error, %s.", counted(*d.LinesTotal, "line"), of, counted(d.PatternsTotal, "pattern"), span))
	}
}

func (d *logsDocument) viewPatterns(p *page) {
	var rows [][]string
	shown := d.Patterns[:min(len(d.Patterns), p.rowsLeft(len(d.Patterns)))]
	for _, one := range shown {
		text := one.Pattern
		if text == "" || p.verbose {
			text = one.Sample
		}
		rows = append(rows, []string{strconv.Itoa(one.Count), clockText(one.Last), known(one.Priority), who(one.Unit, one.Program), text})
	}
	p.table(shownOf("Patterns", len(shown), d.PatternsTotal), []column{{title: "count", right: true}, {title: "last", whole: true}, {title: "level"}, {title: "of"}, {title: "text (# differs)"}}, rows)
}

func errorsText(n int) string {
	if n == 1 {
		return "1 of them an error"
	}
	return strconv.Itoa(n) + " of them errors"
}

func (d *logsDocument) viewLines(p *page) {
	var rows [][]string
	for _, one := range d.Lines {
		rows = append(rows, []string{clockText(one.Time), known(one.Priority), who(one.Unit, one.Program), one.Text})
	}
	p.table("", []column{{title: "time", whole: true}, {title: "level"}, {title: "of"}, {title: "text"}}, rows)
}

// rowsLeft is how many rows of a list fit a screen with what stands around it; all where everything is
// asked for, or nothing is known of the screen.
func (p *page) rowsLeft(all int) int {
	const around = 11
	if p.verbose || p.height == 0 {
		return all
	}
	return max(p.height-around, 5)
}

// who names a service, or the program where that says more.
func who(unit, program string) string {
	if unit == "" || unit == "init.scope" {
		return known(program)
	}
	return strings.TrimSuffix(unit, ".service")
}

// clockText is a time of today without its day, in the time zone of this machine.
func clockText(rfc3339 string) string {
	t, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		return known(rfc3339)
	}
	t = t.Local()
	if now := time.Now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("01-02 15:04")
}

// next is the command that leads on.
func (d *logsDocument) next(p *page) {
	switch {
	case d.raw || total(d.LinesTotal) == 0:
	case d.Unit == "" && len(d.Patterns) > 0 && d.Patterns[0].Unit != "" && d.Patterns[0].Unit != "init.scope":
		p.line("")
		p.fix("The lines of one service: sentinel --logs --raw --unit " + shellWord(d.Patterns[0].Unit))
	case d.Unit != "":
		p.line("")
		p.fix("The lines themselves: sentinel --logs --raw --unit " + shellWord(d.Unit))
	}
}
