// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/answer"
	"sentinel/internal/lazyregexp"
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

// A page for people, under construction. Every text that came from the host was made harmless
// when its document was built.
type page struct {
	b       bytes.Buffer
	width   int
	height  int // rows of the screen; 0 is unknown
	colour  bool
	verbose bool                // everything, and whole
	root    bool                // nobody sees more
	judged  []byte              // the verdict, as it was written
	step    []byte              // the first thing to do about it, as it was written
	cut     bool                // a value was cut
	command string              // that was typed
	named   func(string) string // makes commands such that they can be pasted; nil leaves them
	fuller  func() string       // the command that shows what only root sees, "" if there is none for this user; may be nil
	host    string              // that the answer is from; "" is this machine
	pointed bool                // to the page with everything
}

func newPage(width int, colour bool) *page {
	return &page{width: min(max(width, minWidth), maxWidth), colour: colour}
}

// bytes is the page. One that is longer than the screen ends with the verdict, which
// would otherwise have scrolled away, and with the first thing to do about it.
func (p *page) bytes() []byte {
	if p.fits() || len(p.judged) == 0 {
		return p.b.Bytes()
	}
	return slices.Concat(p.b.Bytes(), []byte("\n"), p.judged, p.step)
}

// ownCommand is one of sentinel up to its first flag but the host, with the ssh that may run it.
var ownCommand = lazyregexp.New(`(ssh\s+(?:-t\s+)?\S+\s+(?:sudo\s+)?)?(?:sudo )?sentinel (?:--host \S+ )?--(host\b)?`)

// quotation is what a text repeats, which may be a path with such a command in it.
var quotation = lazyregexp.New(`(?:^|\s)'[^']*'|"[^"]*"`)

// own makes the commands in words of this program those for the host that the page is about, where sentinel takes
// sudo by itself, or for the place that this program is in. What others wrote is left as it is.
func (p *page) own(words string) string {
	adapt := p.named
	if p.host != "" {
		adapt = func(text string) string { return ownCommand.Get().ReplaceAllStringFunc(text, p.onHost) }
	}
	if adapt == nil {
		return words
	}
	var b strings.Builder
	from := 0
	for _, quoted := range quotation.Get().FindAllStringIndex(words, -1) {
		b.WriteString(adapt(words[from:quoted[0]]) + words[quoted[0]:quoted[1]])
		from = quoted[1]
	}
	return b.String() + adapt(words[from:])
}

// onHost names the host in a command, unless it does so already, and is wrapped behind it or runs there by ssh.
func (p *page) onHost(command string) string {
	if strings.HasPrefix(command, "ssh") || strings.HasSuffix(command, "--host") {
		return command
	}
	return "sentinel --host " + p.host + " --"
}

// fits says that the screen holds the page and the prompt of a shell below it.
func (p *page) fits() bool {
	return p.height == 0 || p.rows(p.b.Bytes()) < p.height
}

// rowsOf is how many rows what write writes would take.
func (p *page) rowsOf(write func(inner *page)) int {
	inner := &page{width: p.width, verbose: p.verbose, command: p.command, host: p.host, named: p.named}
	write(inner)
	return p.rows(inner.b.Bytes())
}

// end says how to see values that were cut.
func (p *page) end() {
	if p.cut && p.command != "" && !p.pointed {
		p.line("")
		p.seeAll("Values that end in … are whole with")
	}
}

// seeAll writes the command for the page with everything, on one line with what it is for if
// that holds both.
func (p *page) seeAll(what string) {
	p.pointed = true
	command := p.own(p.command) + " --verbose"
	if text.StringWidth(what+": "+command) > p.width {
		p.line("%s:", what)
		p.write([]string{command})
		return
	}
	p.write([]string{what + ": " + command})
}

// rows is how many rows of the screen a part of the page takes.
func (p *page) rows(part []byte) int {
	n := 0
	for line := range bytes.Lines(part) {
		width := text.StringWidthWithoutEscSequences(string(bytes.TrimSuffix(line, []byte("\n"))))
		n += max(1, (width+p.width-1)/p.width)
	}
	return n
}

// verdict writes the first lines, coloured where colour is wanted: one word and
// one sentence.
func (p *page) verdict(t tone, word, sentence string) {
	lines := p.wrap(word + ": " + p.own(sentence))
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
	p.write(p.wrap(fmt.Sprintf(p.own(format), args...)))
}

// fix writes what to do next. A command at its end stands on a line of its own
// and is not wrapped: in pieces it cannot be pasted.
func (p *page) fix(text string) {
	text = p.own(p.placed(text))
	at := strings.LastIndex(text, ": ")
	switch {
	case at >= 0 && isCommand(text[at+2:]):
		p.line("%s", text[:at+1])
		p.write([]string{text[at+2:]})
	case isCommand(text):
		p.write([]string{text})
	default:
		p.line("%s", text)
	}
}

// placed names the machine that a command is for where --host does not run it there.
func (p *page) placed(text string) string {
	command := strings.TrimPrefix(text[max(0, strings.LastIndex(text, ": ")):], ": ")
	if p.host == "" || !isCommand(command) || ownCommand.Get().MatchString(command) {
		return text
	}
	return "On " + p.host + ": " + text
}

// isCommand says that text is what domains and this package write as a command
// to be pasted. The end of what stands in quotes is none: another machine may have said it.
func isCommand(text string) bool {
	if strings.Count(text, `"`)%2 != 0 {
		return false
	}
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

// gaps writes what could not be read, and why, fields with one reason together.
func (p *page) gaps(list answer.Gaps) {
	if len(list) == 0 {
		return
	}
	p.line("")
	p.line("Not known here:")
	for _, group := range grouped(list) {
		p.item("%s: %s", group.Field, p.own(group.Reason))
	}
	if command := p.asRoot(list); command != "" {
		p.fix("As root it shows more: " + command)
	}
}

// grouped puts the fields with one reason into one gap.
func grouped(list answer.Gaps) answer.Gaps {
	var groups answer.Gaps
	for _, g := range list {
		at := slices.IndexFunc(groups, func(known answer.Gap) bool { return known.Reason == g.Reason })
		if at < 0 {
			groups = append(groups, g)
			continue
		}
		groups[at].Field += ", " + g.Field
	}
	return groups
}

// unknown names what could not be read, and says how to learn why.
func (p *page) unknown(list answer.Gaps) [][]string {
	if len(list) == 0 {
		return nil
	}
	var fields []string
	for _, g := range list {
		all := g.Fields()
		fields = append(fields, withMore(all[:min(mostInLine, len(all))], len(all), ", "))
	}
	rows := [][]string{{"not known", strings.Join(fields, ", ") + " (--verbose says why)"}}
	if command := p.asRoot(list); command != "" {
		rows = append(rows, []string{"as root", command})
	}
	return rows
}

// asRoot is the command that shows more where root would; "" where there is none.
func (p *page) asRoot(list answer.Gaps) string {
	hidden := slices.ContainsFunc(list, func(g answer.Gap) bool { return strings.Contains(g.Reason, "root") })
	if !hidden || p.root || p.fuller == nil {
		return ""
	}
	return p.own(p.fuller())
}

// item writes one paragraph, indented.
func (p *page) item(format string, args ...any) {
	p.indented(func(inner *page) { inner.line(format, args...) })
}

// entry writes a line that others wrote. What of it goes on in the next row is indented, so that it does not look like
// another.
func (p *page) entry(words string) {
	for i, row := range strings.Split(text.WrapSoft(words, p.width-gap-1), "\n") {
		if i > 0 {
			row = strings.Repeat(" ", gap) + row
		}
		p.write([]string{row})
	}
}

// indented writes what write writes two columns further right. Commands are not
// wrapped there either.
func (p *page) indented(write func(inner *page)) {
	inner := &page{width: p.width - gap, host: p.host, named: p.named}
	write(inner)
	for line := range bytes.Lines(inner.b.Bytes()) {
		p.b.WriteString(strings.Repeat(" ", gap))
		p.b.Write(line)
	}
}

// facts writes rows of a title and a text, which is wrapped beside it.
func (p *page) facts(rows [][]string) {
	if len(rows) == 0 {
		return
	}
	left := 0
	for _, r := range rows {
		left = max(left, text.StringWidth(r[0]))
	}
	p.b.WriteString("\n")
	for _, r := range rows {
		title, value := r[0], r[1]
		if !strings.HasPrefix(value, "sudo ") { // in pieces a command cannot be pasted
			value = text.WrapSoft(value, p.width-left-gap-1)
		}
		for line := range strings.SplitSeq(value, "\n") {
			p.write([]string{text.Pad(title, left+gap, ' ') + line})
			title = ""
		}
	}
}
