// SPDX-License-Identifier: Apache-2.0

package shellscript

import "strings"

// maxWords bounds the words that are kept of one command.
const maxWords = 64

// A scanner splits a script into simple commands.
type scanner struct {
	text string
	at   int
	word strings.Builder
	has  bool // there is a word, even an empty one in quotes
	line []string
	list [][]string
	open int      // parentheses
	arm  int      // how many commands there were before what may be a pattern of case
	here []string // ends of the here-documents that begin after this line
}

// commands splits a script at newlines and operators. A command in a substitution is one of its
// own.
func commands(script string) [][]string {
	s := &scanner{text: script}
	for s.at < len(s.text) {
		s.step()
	}
	s.endCommand()
	return s.list
}

func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.text) {
		return s.text[s.at+n]
	}
	return 0
}

func (s *scanner) step() {
	switch c := s.text[s.at]; {
	case c == '\\' && s.peek(1) == '\n':
		s.at++
	case c == '\\' && s.at+1 < len(s.text):
		s.at++
		s.add(s.text[s.at])
	case c == '\'':
		s.single()
	case c == '"':
		s.double()
	case c == '#' && !s.has:
		s.skipTo('\n')
	case c == '\n', c == ';' && s.peek(1) == ';':
		s.endCommand()
		s.skipHere()
		s.arm = len(s.list)
	case c == '<' && s.peek(1) == '<' && s.peek(2) != '<':
		s.noteHere()
	case c == '$' && s.peek(1) == '(' && s.peek(2) == '(':
		s.skipTo(')')
	case c == '$' && s.peek(1) == '(', c == '`':
		s.endCommand()
		if c == '$' {
			s.open++
			s.at++
		}
	case strings.IndexByte(" \t\r", c) >= 0:
		s.endWord()
	case strings.IndexByte("<>", c) >= 0:
		s.redirect()
	case c == '(' || c == ')':
		s.paren(c)
	case strings.IndexByte(";&|", c) >= 0:
		s.endCommand()
	default:
		s.add(c)
	}
	s.at++
}

func (s *scanner) add(c byte) { s.word.WriteByte(c); s.has = true }

func (s *scanner) endWord() {
	if s.has && len(s.line) < maxWords {
		s.line = append(s.line, s.word.String())
	}
	s.word.Reset()
	s.has = false
}

func (s *scanner) endCommand() {
	s.endWord()
	if len(s.line) > 0 {
		s.list = append(s.list, s.line)
	}
	s.line = nil
}

// paren ends a command. A word before an opening one is a function. What stands before a closing one
// that nothing opened is a pattern of case.
func (s *scanner) paren(c byte) {
	s.endWord()
	switch {
	case c == '(':
		if len(s.line) == 1 {
			s.line = nil
		}
		s.open++
	case s.open > 0:
		s.open--
	default:
		s.line, s.list = nil, s.list[:min(s.arm, len(s.list))]
	}
	s.endCommand()
}

func (s *scanner) single() {
	s.has = true
	for s.at++; s.at < len(s.text) && s.text[s.at] != '\''; s.at++ {
		s.add(s.text[s.at])
	}
}

// double reads up to the closing quote. A substitution in it is read as a word: what it runs is
// found by [scanner.inner].
func (s *scanner) double() {
	s.has = true
	for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		switch {
		case s.text[s.at] == '\\' && s.at+1 < len(s.text):
			s.at++
			s.add(s.text[s.at])
		case s.text[s.at] == '$' && s.peek(1) == '(' && s.peek(2) != '(':
			s.inner(")", 2)
		case s.text[s.at] == '`':
			s.inner("`", 1)
		default:
			s.add(s.text[s.at])
		}
	}
}

// inner reads the commands of a substitution within quotes, up to the first end: one within another
// is cut short.
func (s *scanner) inner(end string, skip int) {
	text := s.text[s.at+skip:]
	n := strings.Index(text, end)
	if n < 0 {
		n = len(text)
	}
	s.list = append(s.list, strings.Fields(text[:n]))
	s.at += skip + n
	s.add('$')
}

// skipTo goes on before the next c.
func (s *scanner) skipTo(c byte) {
	n := strings.IndexByte(s.text[s.at:], c)
	if n < 0 {
		n = len(s.text) - s.at
	}
	s.at += n - 1
}

// redirect passes over the operator and the file of a redirection. A number before it is no word.
func (s *scanner) redirect() {
	if strings.Trim(s.word.String(), "0123456789") == "" {
		s.word.Reset()
		s.has = false
	}
	s.endWord()
	for s.at+1 < len(s.text) && strings.IndexByte("<>&| \t", s.text[s.at+1]) >= 0 {
		s.at++
	}
	if s.peek(1) == '(' { // a process
		return
	}
	for s.at+1 < len(s.text) && strings.IndexByte(" \t\n;&|()", s.text[s.at+1]) < 0 {
		s.at++
	}
}

// noteHere reads the end of a here-document: <<EOF, <<-"EOF".
func (s *scanner) noteHere() {
	s.endWord()
	s.at += 2
	rest := strings.TrimLeft(s.text[s.at:], "- \t")
	n := strings.IndexAny(rest, " \t\n;&|()<>")
	if n < 0 {
		n = len(rest)
	}
	s.here = append(s.here, strings.Trim(rest[:n], `"'\`))
	s.at = len(s.text) - len(rest) + n - 1
}

// skipHere passes over the here-documents that begin after a newline.
func (s *scanner) skipHere() {
	for _, end := range s.here {
		for s.at+1 < len(s.text) {
			line := s.text[s.at+1:]
			n := strings.IndexByte(line, '\n')
			if n < 0 {
				n = len(line)
			}
			s.at += n + 1
			if strings.TrimLeft(line[:n], "\t") == end {
				break
			}
		}
	}
	s.at = min(s.at, len(s.text))
	s.here = nil
}
