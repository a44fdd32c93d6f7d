// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A column is one column of a table. A column of numbers stands to the right
// and is never cut, nor is one that is worth nothing in part, such as an address; the others
// give way, widest first, when the page is full.
type column struct {
	title string
	right bool
	whole bool // never cut
}

func (c column) stays() bool { return c.right || c.whole }

// table writes rows under a heading. An empty table writes nothing. Where the
// page is too narrow even for what may be cut, each row becomes a paragraph.
func (p *page) table(heading string, columns []column, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.b.WriteString("\n")
	if heading != "" {
		p.line("%s", heading)
	}
	widths := p.widths(columns, rows)
	if full(widths) > p.width {
		p.paragraphs(columns, rows)
		return
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
			row = append(row, strings.Join(strings.Fields(cell), " ")) // blanks in a row look like the next column
		}
		t.AppendRow(row)
	}
	t.SetColumnConfigs(p.configs(columns, widths))
	p.write(strings.Split(t.Render(), "\n"))
}

// gap is between columns, and narrowest is what a column is never cut below.
const (
	gap       = 2
	narrowest = 6
)

// paragraphs writes each row as lines of title and value.
func (p *page) paragraphs(columns []column, rows [][]string) {
	for i, row := range rows {
		if i > 0 {
			p.b.WriteString("\n")
		}
		for j, c := range columns {
			p.line("%s: %s", c.title, row[j])
		}
	}
}

// configs aligns the columns and cuts those of text to their widths.
func (p *page) configs(columns []column, widths []int) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, len(columns))
	for i, width := range widths {
		align := text.AlignLeft
		if columns[i].right {
			align = text.AlignRight
		}
		configs[i] = table.ColumnConfig{
			Number: i + 1, Align: align, AlignHeader: align, WidthMax: width, WidthMaxEnforcer: p.shorten,
		}
	}
	return configs
}

func (p *page) widths(columns []column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = text.StringWidth(c.title)
		for _, r := range rows {
			widths[i] = max(widths[i], text.StringWidth(r[i]))
		}
	}
	for full(widths) > p.width {
		at := widestText(columns, widths)
		if columns[at].stays() || widths[at] <= narrowest {
			break
		}
		widths[at]--
	}
	return widths
}

// full is how much of the page columns of these widths take.
func full(widths []int) int {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

func widestText(columns []column, widths []int) int {
	at := 0
	for i, c := range columns {
		if !c.stays() && (columns[at].stays() || widths[i] > widths[at]) {
			at = i
		}
	}
	return at
}

// shorten makes a value as narrow as its column: it is cut, or wrapped where the whole is
// asked for.
func (p *page) shorten(s string, width int) string {
	if p.verbose {
		return text.WrapSoft(s, width)
	}
	p.cut = p.cut || text.StringWidth(s) > width
	return snip(s, width)
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
