// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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
