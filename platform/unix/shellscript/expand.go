// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"strings"

	"sentinel/internal/lazyregexp"
)

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
	case s.peek(1) == '[': // arithmetic, as it was written once
		if end := s.bracket(s.at + 1); end > 0 {
			s.inner(s.text[s.at+2 : end])
			s.at = end
		}
		s.add('$')
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
	open, end := 0, min(len(s.text), from+maxArithmetic)
	for i := from + 1; i+1 < end; i++ {
		switch c := s.text[i]; c {
		case '\\':
			i++
		case '"', '\'':
			i += closing(s.text[i+1:end], c)
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 && i+1 < end && s.text[i+1] == ')' {
			return i
		}
		if open == 0 {
			return 0
		}
	}
	s.reader.spend(end - from)
	return 0
}

// closing returns how far behind a text the quote is that closes it, or 0.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}

// bracket returns where a bracket is closed, or 0, which counts as something that was left out.
func (s *scanner) bracket(from int) int {
	open, end := 0, min(len(s.text), from+min(maxArithmetic, s.reader.left))
	for i := from; i < end; i++ {
		switch c := s.text[i]; c {
		case '\\':
			i++
		case '[':
			open++
		case ']':
			open--
		case '"', '\'':
			i += closing(s.text[i+1:end], c)
		}
		if open == 0 {
			return min(i, end-1)
		}
	}
	s.reader.spend(end - from)
	s.reader.cut = true
	return 0
}

// patterned begins a parameter with a pattern.
var patterned = lazyregexp.New(`^(?:!?\w+(?:\[[^]]*\])?|[@*#?$!-])[#%/^,]`)

// parameter keeps "${…}" as it is, and finds the commands in it. One without an end is read as though it were none.
func (s *scanner) parameter() {
	if s.reader.left == 0 {
		s.reader.cut = true
		s.add('$')
		return
	}
	s.begin()
	from, commands, here, outer := s.at, len(s.list), s.here, s.level
	s.depth++
	closed := s.closeParameter()
	s.depth--
	s.level = outer
	if closed {
		s.word, s.has = append(s.word, s.text[from:s.at+1]...), true
		return
	}
	s.reader.spend(s.at - from)
	s.at, s.list, s.here = from, s.list[:commands], here
	s.add('$')
}

// closeParameter goes to the brace that closes "${", and reports whether there is one. Within double quotes, single
// ones quote in patterns only.
func (s *scanner) closeParameter() bool {
	s.at += len("${")
	quotes := !s.doubled || patterned.Get().MatchString(s.text[s.at:min(len(s.text), s.at+maxAhead)])
	for n := 0; n < maxAhead && s.at < len(s.text); n++ {
		switch c := s.text[s.at]; {
		case c == '}':
			return true
		case c == '\\':
			s.at++
		case c == '\'' && quotes:
			s.single()
		case c == '"':
			doubled := s.doubled
			s.double()
			s.doubled = doubled
		case c == '$' && s.peek(1) == '\'' && quotes:
			s.at++
			s.escapes()
		case c == '$' || c == '`':
			s.expand()
		}
		s.at++
	}
	return false
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
	s.apart(string(text))
}

// within is the scanner of a text within the one that is read.
func (s *scanner) within(text string) *scanner {
	return &scanner{reader: s.reader, text: s.reader.part(text), depth: s.depth + 1, level: level{dir: s.dir}}
}

// inner finds the commands of the substitutions in a text that is no script.
func (s *scanner) inner(text string) {
	if s.depth == maxNest {
		return
	}
	sub := s.within(text)
	sub.doubled = true
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
