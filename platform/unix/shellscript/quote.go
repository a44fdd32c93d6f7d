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
	text, length := decoded(s.text[s.at+1:])
	s.word = append(s.word, text...)
	s.at += 1 + length
}

// decoded returns the text in "$'…'" from behind its first quote, and how far the last one is.
func decoded(rest string) (text []byte, length int) {
	whole := len(rest)
	for rest != "" && rest[0] != '\'' {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '\'')
		switch {
		case err != nil:
			text = append(text, rest[0])
			rest = rest[1:]
			continue
		case multibyte:
			text = utf8.AppendRune(text, r)
		default:
			text = append(text, byte(r))
		}
		rest = tail
	}
	return text, whole - len(rest)
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

// unquoted is a word without its quotes, and without the backslashes that stand for what follows them; what would be
// expanded stays as it is. "$'…'" and "$\"…\"" are quotes to some shells (bash(1), zsh(1)): if dollars is set.
func unquoted(word string, dollars bool) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(word); i++ {
		next := byte(0)
		if i+1 < len(word) {
			next = word[i+1]
		}
		switch c := word[i]; {
		case dollars && quote == 0 && c == '$' && next == '"':
		case dollars && quote == 0 && c == '$' && next == '\'':
			text, length := decoded(word[i+2:])
			b.Write(text)
			i += 2 + length
		case c == quote && quote != 0:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && i+1 < len(word) && (quote == 0 || quote == '"' && strings.IndexByte("$`\"\\", next) >= 0):
			i++
			b.WriteByte(next)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
