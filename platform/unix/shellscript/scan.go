// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read.
const (
	maxWords = 4096 // of one command
	maxNest  = 30   // of substitutions and subshells
	maxAhead = 400  // bytes of "${…}" and of a pattern in parentheses
	maxPipe  = 10   // commands that pass on what one of them reads
)

// A simple is a simple command without its redirections.
type simple struct {
	words []string
	dir   string  // where it runs; "" if the script does not say so
	input string  // what it reads from the script or from an echo
	from  *simple // what writes to it
}

// take returns what the commands of a pipeline hand on to the last of them, once.
func (c *simple) take() string {
	for range maxPipe {
		switch {
		case c == nil:
			return ""
		case c.input != "":
			input := c.input
			c.input = ""
			return input
		}
		c = c.from
	}
	return ""
}

// A document is a here-document that begins after the line.
type document struct {
	end            string
	tabs, verbatim bool
	reader         *simple
}

// Kinds of the word that follows a redirection.
const (
	toFile         = '>'
	fromFile       = '<'
	hereString     = 's'
	hereDocument   = 'd'
	tabbedDocument = 't'
)

// A level is what is known of the command that is being read, within one pair of parentheses.
type level struct {
	word    []byte
	has     bool // there is a word, even an empty one in quotes
	quoted  bool
	doubled bool // within double quotes
	command *simple
	place   int // of the command in the list
	from    *simple
	target  byte   // the next word is of a redirection
	array   string // "NAME=" while its elements are read
	cases   int    // case … esac
	pattern bool   // what is read is a pattern of case
	dir     string
}

// A scanner splits a script into simple commands.
type scanner struct {
	text  string
	at    int
	depth int
	list  []*simple
	here  []document
	level
}

// commands splits a script at newlines and operators. A command in a substitution is one of its
// own, and a dollar in the word it was in.
func commands(script, dir string) []*simple {
	s := &scanner{text: script, level: level{dir: dir}}
	s.all()
	return s.list
}

func (s *scanner) all() {
	for s.at < len(s.text) {
		s.step()
	}
	s.endCommand()
}

func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.text) {
		return s.text[s.at+n]
	}
	return 0
}

func (s *scanner) step() {
	switch c := s.text[s.at]; {
	case c == '\\':
		s.escape()
	case c == '\'':
		s.single()
	case c == '"':
		s.double()
	case c == '$' && s.peek(1) == '"':
		s.at++
		s.double()
	case c == '$' && s.peek(1) == '\'':
		s.at++
		s.escapes()
	case c == '$' || c == '`':
		s.expand()
	case c == '#' && !s.has:
		s.comment()
	case c == '\n':
		s.newline()
	case strings.IndexByte(" \t\r", c) >= 0:
		s.endWord()
	case strings.IndexByte("<>", c) >= 0:
		s.redirect()
	case c == '(':
		s.open()
	case c == ')':
		s.closed()
	case strings.IndexByte(";&|", c) >= 0:
		s.operator(c)
	default:
		s.add(c)
	}
	s.at++
}

func (s *scanner) add(c byte) { s.word = append(s.word, c); s.has = true }

// begin keeps the place of a command before those in its substitutions.
func (s *scanner) begin() {
	if s.command == nil {
		s.command, s.place = &simple{}, len(s.list)
	}
}

func (s *scanner) endWord() {
	word, has, quoted, target := string(s.word), s.has, s.quoted, s.target
	s.word, s.has, s.quoted = nil, false, false
	if !has {
		return
	}
	s.target = 0
	s.begin()
	switch target {
	case toFile:
	case fromFile:
		s.command.input = sourced(word)
	case hereString:
		s.command.input = word
	case hereDocument, tabbedDocument:
		s.here = append(s.here, document{word, target == tabbedDocument, quoted, s.command})
	default:
		s.take(word)
	}
}

// take adds a word to the command, unless it begins or ends a case.
func (s *scanner) take(word string) {
	words := s.command.words
	switch {
	case word == "in" && isCase(words):
		s.cases++
		s.pattern, s.command = true, nil
		return
	case word == "esac" && s.cases > 0 && len(words) == 0:
		s.cases--
		s.pattern = false
	}
	if len(words) < maxWords {
		s.command.words = append(words, s.array+word)
	}
}

// isCase reports whether the words are "case WORD", maybe behind keywords.
func isCase(words []string) bool {
	n := len(words)
	return n >= 2 && words[n-2] == "case" && !slices.ContainsFunc(words[:n-2], func(w string) bool { return !keywords(w) })
}

// endCommand returns the command that ends, if there is one.
func (s *scanner) endCommand() *simple {
	s.endWord()
	c := s.command
	s.command, s.target, s.array = nil, 0, ""
	if c == nil || len(c.words) == 0 {
		return nil
	}
	c.dir, c.from, s.from = s.dir, s.from, nil
	s.list = slices.Insert(s.list, s.place, c)
	s.dir = entered(s.dir, c.words)
	return c
}

func (s *scanner) newline() {
	if s.array != "" {
		s.endWord()
	} else if !s.inPattern() {
		s.endCommand()
	}
	s.documents()
}

func (s *scanner) operator(c byte) {
	if s.inPattern() {
		return
	}
	ended, next := s.endCommand(), s.peek(1)
	switch {
	case c == '|' && next != '|':
		s.from = ended
		if ended != nil && ended.input == "" {
			ended.input = printed(ended.words)
		}
		if next == '&' {
			s.at++
		}
	case c == ';' && (next == ';' || next == '&') && s.cases > 0:
		s.at++
		s.pattern = true
	}
}

// printed is what echo, printf and cat write, near enough.
func printed(words []string) string {
	rest := words[1:]
	for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") || words[0] == "printf" && strings.HasPrefix(rest[0], "%")) {
		rest = rest[1:]
	}
	switch words[0] {
	case "echo", "printf":
		return strings.ReplaceAll(strings.Join(rest, " "), `\n`, "\n")
	case "cat":
		var b strings.Builder
		for _, file := range rest {
			b.WriteString(sourced(file))
		}
		return b.String()
	}
	return ""
}

// sourced is what a shell does that reads commands from a file.
func sourced(file string) string { return ". '" + strings.ReplaceAll(file, "'", `'\''`) + "'\n" }

// inPattern ends a word of a pattern of case, unless it ends the case.
func (s *scanner) inPattern() bool {
	if s.pattern {
		s.endWord()
	}
	return s.pattern
}

// open reads what a parenthesis begins that belongs to no expansion.
func (s *scanner) open() {
	after := strings.TrimLeft(s.text[s.at+1:min(len(s.text), s.at+maxAhead)], " \t")
	switch {
	case s.inPattern():
	case s.has && !s.quoted && strings.HasSuffix(string(s.word), "=") && assignment.Get().Match(s.word):
		s.array = string(s.word)
		s.word, s.has = nil, false
	case strings.HasPrefix(after, ")"): // a function
		s.word, s.has, s.command = nil, false, nil
		s.at += strings.IndexByte(s.text[s.at:], ')')
	case s.has && (s.command != nil || !keywords(string(s.word))):
		s.group()
	default:
		s.endCommand()
		if end := s.arithmetic(s.at); end > 0 && !isSubshell(s.text[s.at+2:end]) {
			s.inner(s.text[s.at+2 : end])
			s.at = end + 1
			return
		}
		s.at++
		s.nested()
	}
}

// isSubshell reports whether what stands in two parentheses cannot be arithmetic: shells that have
// none there run it.
func isSubshell(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || strings.IndexByte("/.~", text[0]) >= 0
}

// group reads a pattern such as "@(a|b)" into the word it belongs to.
func (s *scanner) group() {
	open := 0
	for i := s.at; i < min(len(s.text), s.at+maxAhead); i++ {
		switch s.text[i] {
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 {
			s.word = append(s.word, s.text[s.at:i+1]...)
			s.at = i
			return
		}
	}
	s.endCommand()
}

// closed ends an array, a pattern of case, or nothing that was begun.
func (s *scanner) closed() {
	switch {
	case s.array != "":
		s.endWord()
		s.array = ""
	case s.inPattern():
		s.pattern, s.command = false, nil
	default:
		s.endCommand()
	}
}

// nested reads the commands up to the closing parenthesis, apart from the command they are in.
func (s *scanner) nested() {
	if s.depth == maxNest {
		s.at--
		return
	}
	s.begin()
	outer := s.level
	s.level = level{dir: outer.dir}
	s.depth++
	for s.at < len(s.text) && (s.text[s.at] != ')' || s.array != "" || s.inPattern()) {
		s.step()
	}
	s.endCommand()
	s.depth--
	s.level = outer
}

// expand reads what begins with a dollar or stands in backquotes.
func (s *scanner) expand() {
	switch {
	case s.depth == maxNest:
		s.add('$')
	case s.text[s.at] == '`':
		s.backquoted()
		s.add('$')
	case s.peek(1) == '(':
		if end := s.arithmetic(s.at + 1); end > 0 {
			s.inner(s.text[s.at+3 : end])
			s.at = end + 1
		} else {
			s.at += 2
			s.nested()
		}
		s.add('$')
	case s.peek(1) == '{':
		s.parameter()
	default:
		s.add('$')
	}
}

// arithmetic returns where the second of two parentheses is closed, if both are closed together;
// else those are no arithmetic.
func (s *scanner) arithmetic(from int) int {
	if s.depth == maxNest || !strings.HasPrefix(s.text[from:], "((") {
		return 0
	}
	open := 0
	for i := from + 1; i+1 < len(s.text); i++ {
		switch s.text[i] {
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 && s.text[i+1] == ')' {
			return i
		}
		if open == 0 {
			return 0
		}
	}
	return 0
}

// parameter keeps "${…}" as it is.
func (s *scanner) parameter() {
	text := s.text[s.at:min(len(s.text), s.at+maxAhead)]
	open := 0
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '{' && text[i-1] == '$':
			open++
		case text[i] == '}':
			open--
		case text[i] == '"', text[i] == '\'' && !s.doubled:
			i += max(0, strings.IndexByte(text[i+1:], text[i])+1)
		}
		if open == 0 {
			s.begin()
			s.inner(text[2:i])
			s.word, s.has = append(s.word, text[:i+1]...), true
			s.at += i
			return
		}
	}
	s.add('$')
}

// backquoted reads the commands up to the closing backquote.
func (s *scanner) backquoted() {
	var text []byte
	for s.at++; s.at < len(s.text) && s.text[s.at] != '`'; s.at++ {
		if s.text[s.at] == '\\' && s.at+1 < len(s.text) && strings.IndexByte("`$\\", s.text[s.at+1]) >= 0 {
			s.at++
		}
		text = append(text, s.text[s.at])
	}
	s.begin()
	sub := &scanner{text: string(text), depth: s.depth + 1, level: level{dir: s.dir}}
	sub.all()
	s.list = append(s.list, sub.list...)
}

// inner finds the commands of the substitutions in a text that is no script.
func (s *scanner) inner(text string) {
	if s.depth == maxNest {
		return
	}
	sub := &scanner{text: text, depth: s.depth + 1, level: level{dir: s.dir}}
	for ; sub.at < len(sub.text); sub.at++ {
		switch sub.text[sub.at] {
		case '\\':
			sub.at++
		case '$', '`':
			sub.expand()
		}
	}
	s.list = append(s.list, sub.list...)
}

func (s *scanner) escape() {
	if s.at++; s.at < len(s.text) && s.text[s.at] != '\n' {
		s.add(s.text[s.at])
		s.quoted = true
	}
}

func (s *scanner) single() {
	s.has, s.quoted = true, true
	for s.at++; s.at < len(s.text) && s.text[s.at] != '\''; s.at++ {
		s.add(s.text[s.at])
	}
}

// escapes reads $'…', with escapes as those of C.
func (s *scanner) escapes() {
	s.has, s.quoted = true, true
	rest := s.text[s.at+1:]
	for rest != "" && rest[0] != '\'' {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '\'')
		switch {
		case err != nil:
			s.add(rest[0])
			rest = rest[1:]
			continue
		case multibyte:
			s.word = utf8.AppendRune(s.word, r)
		default:
			s.add(byte(r))
		}
		rest = tail
	}
	s.at = len(s.text) - len(rest)
}

func (s *scanner) double() {
	s.has, s.quoted, s.doubled = true, true, true
	for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && s.peek(1) == '\n':
			s.at++
		case c == '\\' && strings.IndexByte("$`\"\\", s.peek(1)) >= 0:
			s.at++
			s.add(s.text[s.at])
		case c == '$' || c == '`':
			s.expand()
		default:
			s.add(c)
		}
	}
	s.doubled = false
}

// comment goes on before the next newline.
func (s *scanner) comment() {
	n := strings.IndexByte(s.text[s.at:], '\n')
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.at += n - 1
}

// redirect passes over the operator of a redirection; the next word is its file. A number or {NAME}
// before it is no word.
func (s *scanner) redirect() {
	if word := string(s.word); !s.quoted && (strings.Trim(word, "0123456789") == "" || word[0] == '{' && strings.HasSuffix(word, "}")) {
		s.word, s.has = nil, false
	}
	s.endWord()
	if s.peek(1) == '(' { // a process
		s.at += 2
		s.nested()
		s.add('$')
		return
	}
	switch rest := s.text[s.at:]; {
	case strings.HasPrefix(rest, "<<<"):
		s.target = hereString
		s.at += 2
	case strings.HasPrefix(rest, "<<-"):
		s.target = tabbedDocument
		s.at += 2
	case strings.HasPrefix(rest, "<<"):
		s.target = hereDocument
		s.at++
	default:
		s.target = toFile
		if rest[0] == '<' && strings.IndexByte("<>&", s.peek(1)) < 0 {
			s.target = fromFile
		}
		for s.at+1 < len(s.text) && strings.IndexByte("<>&|", s.text[s.at+1]) >= 0 {
			s.at++
		}
	}
}

// documents passes over the here-documents that begin after a newline, but for their substitutions.
func (s *scanner) documents() {
	for _, doc := range s.here {
		start := min(s.at+1, len(s.text))
		end := start
		for s.at+1 < len(s.text) {
			line, _, _ := strings.Cut(s.text[s.at+1:], "\n")
			s.at += len(line) + 1
			line = strings.TrimSuffix(line, "\r")
			if doc.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == doc.end {
				break
			}
			end = min(s.at+1, len(s.text))
		}
		doc.reader.input = s.text[start:end]
		if !doc.verbatim {
			s.inner(s.text[start:end])
		}
	}
	s.here = nil
}

// entered is where the commands after this one run, as far as the script says so.
func entered(dir string, words []string) string {
	for len(words) > 0 && (keywords(words[0]) || words[0] == "builtin" || words[0] == "command") {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return dir
	case words[0] == "popd":
		return ""
	case !slices.Contains([]string{"cd", "chdir", "pushd"}, words[0]):
		return dir
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			return within(dir, word)
		}
	}
	return ""
}

// rooted reports whether a path needs no directory it is in.
func rooted(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "${HOME}"), "$HOME")
	return name == "" || strings.IndexByte("/~", name[0]) >= 0
}

// within is a path in a directory; "" if that or the path is unknown.
func within(dir, name string) string {
	switch {
	case name == "" || strings.LastIndexByte(name, '$') > 0 || name[0] == '$' && !rooted(name):
		return ""
	case rooted(name):
		return name
	case dir == "":
		return ""
	}
	return path.Join(dir, name)
}
