// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/answer"
)

// Widths of the view in columns.
const (
	defaultWidth = 80
	minWidth     = 40
	maxWidth     = 120
)

// A tone colours a verdict.
type tone int

const (
	calm tone = iota
	warn
	severe
)

// A page is a view for people under construction. Every text that came from
// the host was made harmless when its document was built.
type page struct {
	b      bytes.Buffer
	width  int
	colour bool
}

func newPage(width int, colour bool) *page {
	return &page{width: min(max(width, minWidth), maxWidth), colour: colour}
}

func (p *page) bytes() []byte { return p.b.Bytes() }

// verdict writes the first line: one word, coloured where colour is wanted, and
// one sentence.
func (p *page) verdict(t tone, word, sentence string) {
	lines := p.wrap(word + ": " + sentence)
	if p.colour {
		colour := map[tone]int{calm: 32, warn: 33, severe: 31}[t]
		lines[0] = fmt.Sprintf("\x1b[1;%dm%s\x1b[0m%s", colour, word, strings.TrimPrefix(lines[0], word))
	}
	p.write(lines)
}

// line writes one paragraph, wrapped.
func (p *page) line(format string, args ...any) {
	p.write(p.wrap(fmt.Sprintf(format, args...)))
}

// wrap leaves a column free: a character two columns wide that does not fit at
// the end of a line is put there all the same.
func (p *page) wrap(s string) []string {
	return strings.Split(text.WrapSoft(s, p.width-1), "\n")
}

func (p *page) write(lines []string) {
	for _, l := range lines {
		p.b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
}

// A column is one column of a table. A column of numbers stands to the right
// and is never cut; the others give way, widest first, when the page is full.
type column struct {
	title string
	right bool
}

// table writes rows under a heading. An empty table writes nothing.
func (p *page) table(heading string, columns []column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.b.WriteString("\n")
	if heading != "" {
		p.line("%s", heading)
	}
	t := table.NewWriter()
	t.SetStyle(plain())
	header := table.Row{}
	for _, c := range columns {
		header = append(header, strings.ToUpper(c.title))
	}
	t.AppendHeader(header)
	for _, r := range rows {
		row := table.Row{}
		for _, cell := range r {
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	t.SetColumnConfigs(p.configs(columns, rows))
	p.write(strings.Split(t.Render(), "\n"))
}

// gap is between columns, and narrowest is what a column is never cut below.
const (
	gap       = 2
	narrowest = 6
)

// configs aligns the columns and cuts those of text to what the page has room
// for.
func (p *page) configs(columns []column, rows [][]string) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, len(columns))
	for i, width := range p.widths(columns, rows) {
		align := text.AlignLeft
		if columns[i].right {
			align = text.AlignRight
		}
		configs[i] = table.ColumnConfig{
			Number: i + 1, Align: align, AlignHeader: align, WidthMax: width, WidthMaxEnforcer: snip,
		}
	}
	return configs
}

func (p *page) widths(columns []column, rows [][]string) []int {
	widths := make([]int, len(columns))
	total := gap * (len(columns) - 1)
	for i, c := range columns {
		widths[i] = text.StringWidth(c.title)
		for _, r := range rows {
			widths[i] = max(widths[i], text.StringWidth(r[i]))
		}
		total += widths[i]
	}
	for ; total > p.width; total-- {
		at := widestText(columns, widths)
		if widths[at] <= narrowest {
			break
		}
		widths[at]--
	}
	return widths
}

func widestText(columns []column, widths []int) int {
	at := 0
	for i, c := range columns {
		if !c.right && (columns[at].right || widths[i] > widths[at]) {
			at = i
		}
	}
	return at
}

func snip(s string, width int) string { return text.Snip(s, width, "…") }

// plain is a table without lines: columns two blanks apart.
func plain() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", strings.Repeat(" ", gap)
	s.Format.Header = text.FormatDefault
	return s
}

// gaps writes what could not be read.
func (p *page) gaps(list answer.Gaps) {
	var rows [][]string
	for _, g := range list {
		rows = append(rows, []string{g.Field, g.Reason})
	}
	p.table("Not known here", []column{{title: "field"}, {title: "reason"}}, rows)
}
