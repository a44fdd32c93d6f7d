// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/progress"
	"sentinel/internal/startup"
)

// A startupDocument answers get_startup_items.
type startupDocument struct {
	answer.Header
	startup.Report
}

// mostStartupItems is how many items a request for everything gets.
const mostStartupItems = 500

func runStartupItems(ctx context.Context, s session, call invocation) (document, error) {
	o := startup.Options{
		Limit: call.capped(startup.DefaultLimit), Brief: call.brief(), All: call.verbose || call.rows == allRows,
		Now: s.host.Now(), State: s.kept(startup.StateName),
	}
	switch {
	case call.request && call.verbose:
		o.Limit = mostStartupItems
	case call.verbose && call.rows == defaultRows:
		o.Limit = 0
	}
	progress.Say(ctx, 5, "reading what starts by itself, and what packages say of it")
	report, err := startup.Collect(ctx, s.host.Startup, o)
	if err != nil {
		return nil, err
	}
	return startupDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

func (d startupDocument) view(p *page) {
	d.verdict(p)
	rows := [][]string{}
	for _, i := range d.Items {
		rows = append(rows, []string{string(i.Status), strings.ReplaceAll(string(i.Kind), "_", " "), i.Name, known(startedBy(i)), notesText(i), changedText(i.FileChanged)})
	}
	room := len(rows)
	if p.height > 0 && !p.verbose {
		room = max(3, p.height-p.rowsOf(d.ending)-6)
	}
	shown := min(len(rows), room)
	p.table("", []column{{title: "status"}, {title: "kind"}, {title: "name"}, {title: "starts"}, {title: "look at"}, {title: "changed", whole: true}}, rows[:shown])
	if rest := len(rows) - shown; rest > 0 {
		p.line("%s out.", humanize.Count(rest, "more stands", "more stand"))
	}
	d.ending(p)
}

// verdict says what matters most of the answer.
func (d startupDocument) verdict(p *page) {
	switch fresh, changed := total(d.NewTotal), total(d.ChangedTotal); {
	case d.Since == "":
		p.verdict(warn, "STARTUP", fmt.Sprintf("%s by themselves%s. Nothing to compare with%s.", startText(d.ItemsTotal), d.unpackagedText(), d.whyNot()))
	case fresh+changed > 0:
		p.verdict(severe, "NEW", fmt.Sprintf("Since %s: %d new, %d changed, %d gone.", whenText(d.Since), fresh, changed, total(d.GoneTotal)))
		d.nextStep(p)
	default:
		p.verdict(calm, "AS BEFORE", fmt.Sprintf("Nothing new since %s. %s by themselves%s.", whenText(d.Since), startText(d.ItemsTotal), d.unpackagedText()))
	}
}

func startText(n int) string {
	if n == 1 {
		return "1 thing starts"
	}
	return strconv.Itoa(n) + " things start"
}

func (d startupDocument) unpackagedText() string {
	if d.UnpackagedTotal == nil {
		return ""
	}
	return fmt.Sprintf(", %d of no package", *d.UnpackagedTotal)
}

func (d startupDocument) whyNot() string {
	if d.FirstRun {
		return ": this is the first run"
	}
	return ""
}

// nextStep shows how to read the first item, where its names can be pasted.
func (d startupDocument) nextStep(p *page) {
	if len(d.Items) == 0 {
		return
	}
	i := d.Items[0]
	switch {
	case slices.Contains([]startup.Kind{startup.Service, startup.Timer, startup.Socket, startup.PathUnit}, i.Kind) && isPlainWord(i.Name):
		p.fix("Read the first: systemctl cat " + i.Name)
	case isPlainWord(strings.ReplaceAll(strings.TrimPrefix(i.File, "/"), "/", "-")):
		p.fix("Read the first: sudo cat " + i.File)
	}
}

func startedBy(i startup.Item) string {
	if len(i.Programs) == 0 {
		return i.File
	}
	return strings.Join(i.Programs, " ")
}

func notesText(i startup.Item) string {
	var list []string
	for _, w := range i.Warnings {
		list = append(list, strings.ReplaceAll(string(w), "_", " "))
	}
	return strings.Join(list, ", ")
}

func changedText(moment string) string {
	day, _, _ := strings.Cut(moment, "T")
	return known(day)
}

// ending counts what the table does not show.
func (d startupDocument) ending(p *page) {
	var rest []string
	for _, c := range d.Rest {
		rest = append(rest, counted(c.Count, strings.ReplaceAll(string(c.Kind), "_", " ")))
	}
	p.line("")
	if len(rest) > 0 {
		p.line("Beside these: %s.", strings.Join(rest, ", "))
	}
	if len(d.Gone) > 0 {
		p.line("Gone: %s.", strings.Join(d.Gone, ", "))
	}
	if p.verbose {
		p.gaps(d.Unavailable)
		return
	}
	p.facts(p.unknown(d.Unavailable))
	p.seeAll("All of them")
}
