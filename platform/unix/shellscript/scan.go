// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"bytes"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
)

// Bounds of what is read.
const (
	maxWords      = 4096 // of one command
	maxNest       = 30   // of substitutions and subshells
	maxAhead      = 400  // bytes of "${…}" and of a pattern in parentheses
	maxArithmetic = 1024 // bytes of "$((…))"
	maxKeyword    = 64   // bytes
	maxPipe       = 10   // commands that pass on what one of them reads
)

// A simple is a simple command without its redirections.
type simple struct {
	words []string
	dir   string  // where it runs; "" if the script does not say so
	input string  // what it reads from the script or from an echo
	from  *simple // what writes to it
}

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
	behind  int    // where its operator ends
	array   string // "NAME=" while its elements are read
	cases   int    // case … esac
	pattern bool   // what is read is a pattern of case
	dir     string
}

// A scanner splits a script into simple commands.
type scanner struct {
	reader *Reader
	text   string
	at     int
	depth  int
	list   []*simple
	here   []document
	level
}

// commands splits a script at newlines and operators. A command in a substitution is one of its
// own, and a dollar in the word it was in.
func (r *Reader) commands(script, dir string) []*simple {
	s := &scanner{reader: r, text: script, level: level{dir: dir}}
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
	case c == ' ' || c == '\t' || c == '\r' && (s.at+1 == len(s.text) || s.peek(1) == '\n'): // a file of Windows
		s.endWord()
	case c == '[' && s.isIndexed():
		s.index()
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
		s.here = append(s.here, s.document(target == tabbedDocument, quoted))
	default:
		s.take(word)
	}
}

// document is the here-document of the command. In the word behind its operator nothing is expanded.
func (s *scanner) document(tabs, verbatim bool) document {
	text := s.text[s.behind:min(s.at, len(s.text))]
	word := strings.TrimLeft(strings.ReplaceAll(text, "\\\n", ""), " \t")
	return document{unquoted(word, true), unquoted(word, false), tabs, verbatim, s.command}
}

// take adds a word to the command, unless it begins or ends a case.
func (s *scanner) take(word string) {
	if isCompound(s.command.words) && goesOn(word) {
		s.endCommand()
		s.begin()
	}
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

// goesOn tells the reserved words that may stand behind a compound command without an operator.
var goesOn = words(`then do else elif fi done esac }`)

// isCompound reports whether the words end a compound command, and are no more than its end.
func isCompound(words []string) bool {
	for len(words) > 0 && keywords(words[0]) {
		words = words[1:]
	}
	switch n := len(words); {
	case n == 0:
		return false
	case words[n-1] == "]]": // behind "&&" in it, too
		return true
	default:
		return n == 1 && slices.Contains([]string{"}", "fi", "done", "esac"}, words[0])
	}
}

// isIndexed reports whether a bracket begins the index of an array to which something is assigned.
func (s *scanner) isIndexed() bool {
	if s.quoted || len(s.word) > maxAhead || !identifier.Get().Match(s.word) {
		return false
	}
	return s.command == nil || len(s.command.words) == 0 || assigners(s.command.words[0]) ||
		!slices.ContainsFunc(s.command.words, func(w string) bool { return !keywords(w) && !assignment.Get().MatchString(w) })
}

// index reads an index, in which no operator ends a word.
func (s *scanner) index() {
	end := s.bracket(s.at)
	if end == 0 {
		s.add('[')
		return
	}
	s.begin()
	s.inner(s.text[s.at+1 : end])
	s.word = append(s.word, s.text[s.at:end+1]...)
	s.at = end
}

// isCase reports whether the words are "case WORD", maybe behind what may stand before a compound command.
func isCase(words []string) bool {
	n := len(words)
	return n >= 2 && words[n-2] == "case" && isBeginning(words[:n-2])
}

// isBeginning reports whether a compound command may follow the words: reserved ones, with the names of functions and coprocesses
// and the option of time.
func isBeginning(words []string) bool {
	for len(words) > 0 {
		n := 1
		switch word := words[0]; {
		case keywords(word):
		case word == "time":
			if len(words) > 1 && words[1] == "-p" {
				n = 2
			}
		case (word == "coproc" || word == "function") && len(words) > 2 && words[2] == "{":
			n = 3
		case word == "coproc":
		default:
			return false
		}
		words = words[n:]
	}
	return true
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
	s.dir = s.reader.entered(s.dir, c.words)
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

// inPattern ends a word of a pattern of case, unless it ends the case.
func (s *scanner) inPattern() bool {
	if s.pattern {
		s.endWord()
	}
	return s.pattern
}

// opens tells the reserved words behind which a parenthesis needs no blank.
func opens(word string) bool {
	return keywords(word) || slices.Contains([]string{"for", "select", "time", "coproc"}, word)
}

// open reads what a parenthesis begins that belongs to no expansion.
func (s *scanner) open() {
	after := strings.TrimLeft(s.text[s.at+1:min(len(s.text), s.at+maxAhead)], " \t")
	if string(s.word) == "in" && s.command != nil && isCase(s.command.words) {
		s.endWord()
	}
	switch {
	case s.inPattern():
	case s.has && !s.quoted && len(s.word) <= maxAhead && bytes.HasSuffix(s.word, []byte("=")) && assignment.Get().Match(s.word):
		s.array = string(s.word)
		s.word, s.has = nil, false
	case strings.HasPrefix(after, ")"): // a function
		s.word, s.has, s.command = nil, false, nil
		s.at += strings.IndexByte(s.text[s.at:], ')')
	case s.has && (len(s.word) > maxKeyword || !opens(string(s.word))):
		s.group()
	default:
		before := s.endCommand()
		if end := s.arithmetic(s.at); end > 0 && (before.isLoop() || !subshell.Get().MatchString(s.text[s.at+2:end])) {
			s.inner(s.text[s.at+2 : end])
			s.at = end + 1
			return
		}
		s.at++
		s.nested()
	}
}

// subshell is what stands in two parentheses and is no arithmetic: shells that have none there run it. A name alone, or
// between operators, may be either.
var subshell = lazyregexp.New("^\\s*$|[;'`]|(?:^|\\s)[~.]?/\\S|\\w\\s+[\\w.~$]")

// isLoop reports whether "((" begins the head of a loop behind a command.
func (c *simple) isLoop() bool { return c != nil && c.words[len(c.words)-1] == "for" }

// group reads a pattern such as "@(a|b)" into the word it belongs to.
func (s *scanner) group() {
	open, ahead := 0, min(maxAhead, len(s.text)-s.at)
	for i := s.at; i < s.at+min(ahead, s.reader.left); i++ {
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
	s.reader.spend(ahead)
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

// comment goes on before the next newline.
func (s *scanner) comment() {
	n := strings.IndexByte(s.text[s.at:], '\n')
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.at += n - 1
}
