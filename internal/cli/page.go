// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/answer"
)

// Widths of the view in columns.
const (
	minWidth = 40
	maxWidth = 120
)

// A tone is the colour of a verdict, as SGR numbers it.
type tone int

const (
	severe tone = 31
	calm   tone = 32
	warn   tone = 33
)

// A page is a view for people under construction. Every text that came from
// the host was made harmless when its document was built.
type page struct {
	b       bytes.Buffer
	width   int
	height  int // rows of the screen; 0 is unknown
	colour  bool
	verbose bool // everything, and whole
	judged  []byte
}

func newPage(width int, colour bool) *page {
	return &page{width: min(max(width, minWidth), maxWidth), colour: colour}
}

// bytes is the page. One that is longer than the screen ends with the verdict, which
// would otherwise have scrolled away.
func (p *page) bytes() []byte {
	if p.fits() || len(p.judged) == 0 {
		return p.b.Bytes()
	}
	return slices.Concat(p.b.Bytes(), []byte("\n"), p.judged)
}

// fits says that the screen holds the page and the prompt of a shell below it.
func (p *page) fits() bool {
	return p.height == 0 || p.rows() < p.height
}

// rows is how many rows of the screen the page takes so far.
func (p *page) rows() int {
	n := 0
	for line := range strings.Lines(p.b.String()) {
		width := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n"))
		n += max(1, (width+p.width-1)/p.width)
	}
	return n
}

// verdict writes the first lines, coloured where colour is wanted: one word and
// one sentence.
func (p *page) verdict(t tone, word, sentence string) {
	lines := p.wrap(word + ": " + sentence)
	for i, line := range lines {
		if p.colour {
			lines[i] = fmt.Sprintf("\x1b[1;%dm%s\x1b[0m", t, strings.TrimRight(line, " "))
		}
	}
	before := p.b.Len()
	p.write(lines)
	p.judged = append(p.judged, p.b.Bytes()[before:]...)
}

// line writes one paragraph, wrapped.
func (p *page) line(format string, args ...any) {
	p.write(p.wrap(fmt.Sprintf(format, args...)))
}

// fix writes what to do next. A command at its end stands on a line of its own
// and is not wrapped: in pieces it cannot be pasted.
func (p *page) fix(text string) {
	at := strings.LastIndex(text, ": ") + len(": ")
	if at < len(": ") || !isCommand(text[at:]) {
		at = 0
	}
	if at > 0 {
		p.line("%s", text[:at-1])
	}
	if isCommand(text[at:]) {
		p.write([]string{text[at:]})
		return
	}
	p.line("%s", text[at:])
}

// isCommand says that text is what domains and this package write as a command
// to be pasted.
func isCommand(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"sudo", "sentinel", "systemctl", "journalctl", "launchctl", "log", "findmnt", "df", "nft"}, first) || strings.HasPrefix(first, "/") && !strings.HasSuffix(text, ".")
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
			row = append(row, cell)
		}
		t.AppendRow(row)
	}
	t.SetColumnConfigs(configs(columns, widths))
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
func configs(columns []column, widths []int) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, len(columns))
	for i, width := range widths {
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
