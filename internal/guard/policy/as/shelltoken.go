// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A shellToken is a word or an operator.
type shellToken struct {
	text     string
	operator bool
	quoted   bool // some of the word was quoted
	glob     bool // it holds a pattern of names that was not quoted
	joined   bool // nothing stands between this operator and the word before
}

// shellTokens cuts text into words and operators (POSIX.1-2024, Shell Command Language, 2.3).
func shellTokens(text string) ([]shellToken, error) {
	l := shellLexer{in: text}
	for l.at < len(text) {
		if err := l.step(text[l.at]); err != nil {
			return nil, err
		}
	}
	l.end()
	return l.tokens, nil
}

type shellLexer struct {
	in     string
	at     int
	word   strings.Builder
	inWord bool
	quoted bool
	glob   bool
	tokens []shellToken
}

func (l *shellLexer) end() {
	if l.inWord {
		l.tokens = append(l.tokens, shellToken{text: l.word.String(), quoted: l.quoted, glob: l.glob})
	}
	l.word.Reset()
	l.inWord, l.quoted, l.glob = false, false, false
}

func (l *shellLexer) put(s string) {
	l.word.WriteString(s)
	l.inWord = true
}

func (l *shellLexer) step(c byte) error {
	switch {
	case c == ' ' || c == '\t':
		l.end()
		l.at++
	case c == '\n' || strings.IndexByte(";&|()<>", c) >= 0:
		return l.operator()
	case c == '\'':
		return l.single()
	case c == '"':
		return l.double()
	case c == '\\':
		return l.backslash()
	case c == '#' && !l.inWord:
		for l.at < len(l.in) && l.in[l.at] != '\n' {
			l.at++
		}
	case c == '$' || c == '`':
		return errExpansion
	case c == '{' && braces(l.in[l.at:]), c == '=' && !l.inWord && equals.MatchString(l.in[l.at:]):
		return errExpansion
	case c < ' ' || c == 0x7f || c >= 0x80 && blank(l.in[l.at:]):
		return errControl
	default:
		l.glob = l.glob || c == '*' || c == '?' || c == '[' && !test.MatchString(l.in[l.at:])
		l.put(l.in[l.at : l.at+1])
		l.at++
	}
	return nil
}

// sequence is {a..z}.
var sequence = regexp.MustCompile(`^\{[^\s{},;&|<>()]*\.\.[^\s{},;&|<>()]*\}`)

// braces says whether a brace begins an expansion, such as {rm,-rf}: a comma and a brace follow in the
// word. A brace in between that closes nothing is part of the list: {a}b,c} is a}b and c.
func braces(s string) bool {
	if strings.HasPrefix(s, "{}") {
		return false
	}
	comma := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			i += quotedLength(s[i:])
		case strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return sequence.MatchString(s)
		case c == ',':
			comma = true
		case c == '}' && comma:
			return true
		}
	}
	return sequence.MatchString(s)
}

// quotedLength returns how many bytes follow the quote that s begins with, up to the one that ends it.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return i
		}
	}
	return len(s)
}

// equals is a word that zsh replaces by where the program is: =rm.
var equals = regexp.MustCompile(`^=[\w./]`)

// test is the command "[", which is no pattern.
var test = regexp.MustCompile(`^\[(\s|$)`)

// blank says whether s begins with a character that some take for a blank, such as U+00A0.
func blank(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(c)
}

func (l *shellLexer) operator() error {
	joined := l.inWord && !l.quoted
	l.end()
	rest := l.in[l.at:]
	for _, op := range []string{"<<", "<(", ">("} {
		if strings.HasPrefix(rest, op) {
			return errExpansion
		}
	}
	for _, op := range []string{"&>>", "&>", ">>", ">|", ">&", "<&", "<>", "&&", "||", "|&", ";;"} {
		if strings.HasPrefix(rest, op) {
			return l.emit(op, joined)
		}
	}
	return l.emit(rest[:1], joined)
}

func (l *shellLexer) emit(op string, joined bool) error {
	l.tokens = append(l.tokens, shellToken{text: op, operator: true, joined: joined})
	l.at += len(op)
	return nil
}

var errQuote = errors.New("a quote in it has no end")

func (l *shellLexer) single() error {
	inner, _, closed := strings.Cut(l.in[l.at+1:], "'")
	if !closed {
		return errQuote
	}
	if strings.ContainsRune(inner, 0) {
		return errZero
	}
	l.put(inner)
	l.quoted = true
	l.at += len(inner) + 2
	return nil
}

func (l *shellLexer) double() error {
	l.put("")
	l.quoted = true
	for l.at++; l.at < len(l.in); l.at++ {
		switch c := l.in[l.at]; {
		case c == '"':
			l.at++
			return nil
		case c == '$' || c == '`':
			return errExpansion
		case c == 0:
			return errZero
		case c == '\\' && l.at+1 < len(l.in) && strings.IndexByte("$`\"\\\n", l.in[l.at+1]) >= 0:
			l.at++
			if l.in[l.at] != '\n' {
				l.put(l.in[l.at : l.at+1])
			}
		default:
			l.put(l.in[l.at : l.at+1])
		}
	}
	return errQuote
}

func (l *shellLexer) backslash() error {
	if l.at+1 == len(l.in) {
		return errors.New("it ends with a backslash")
	}
	switch c := l.in[l.at+1]; {
	case c == '\n': // a line goes on
	case c < ' ':
		return errControl
	default:
		l.put(l.in[l.at+1 : l.at+2])
		l.quoted = true
	}
	l.at += 2
	return nil
}
