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

// Unquoted is a word without its quotes, and without the backslashes that stand for what follows them; what would be
// expanded stays as it is.
func Unquoted(word string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && i+1 < len(word) && (quote == 0 || quote == '"' && strings.IndexByte("$`\"\\", word[i+1]) >= 0):
			i++
			b.WriteByte(word[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
