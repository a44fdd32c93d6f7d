// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of tokens.
const (
	sqlWord   = iota + 1 // a keyword or a name, in upper case
	sqlName              // a quoted name
	sqlText              // a string
	sqlNumber            // digits alone
	sqlSymbol            // an operator, a bracket, a number with more than digits
)

type sqlToken struct {
	kind int
	text string
}

// is says whether the token is this word or symbol, not quoted.
func (t sqlToken) is(text string) bool {
	return (t.kind == sqlWord || t.kind == sqlSymbol) && t.text == text
}

// depth is what the token adds to the depth of brackets.
func (t sqlToken) depth() int {
	switch {
	case t.kind != sqlSymbol:
		return 0
	case t.text == "(" || t.text == "[":
		return 1
	case t.text == ")" || t.text == "]":
		return -1
	}
	return 0
}

// Errors of texts that dialects read differently.
var (
	errSQLComment = errors.New("a comment in it is read differently by different databases")
	errSQLQuote   = errors.New("a quote in it is read differently by different databases, or has no end")
	errSQLBracket = errors.New("its brackets do not match")
	errSQLSymbol  = errors.New("it holds a character that is no SQL everywhere")
)

func sqlTokens(text string) ([]sqlToken, error) {
	l := sqlLexer{in: text}
	depth := 0
	for l.at < len(text) {
		n := len(l.tokens)
		if err := l.step(); err != nil {
			return nil, err
		}
		for _, t := range l.tokens[n:] {
			if depth += t.depth(); depth < 0 || depth > 0 && t.is(";") {
				return nil, errSQLBracket
			}
		}
	}
	if depth != 0 {
		return nil, errSQLBracket
	}
	return l.tokens, nil
}

type sqlLexer struct {
	in     string
	at     int
	tokens []sqlToken
}

func (l *sqlLexer) put(kind int, text string) { l.tokens = append(l.tokens, sqlToken{kind, text}) }

func (l *sqlLexer) step() error {
	rest := l.in[l.at:]
	c, size := utf8.DecodeRuneInString(rest)
	switch {
	case c == utf8.RuneError && size == 1, c == 0, c == 0x1a:
		return errSQLSymbol
	case c == ' ' || c >= '\t' && c <= '\r':
		l.at++
	case strings.HasPrefix(rest, "--"):
		return l.lineComment(rest)
	case strings.HasPrefix(rest, "/*"):
		return l.comment(rest)
	case c == '\'' || c == '"' || c == '`':
		return l.quoted(rest)
	case c == '$':
		return l.dollar(rest)
	case c == '[':
		return l.bracket(rest)
	case c >= '0' && c <= '9':
		l.number(rest)
	case c == '_' || c == '@' || c == ':' && len(rest) > 1 && nameRune(rune(rest[1])) || nameRune(c):
		return l.name(rest)
	case c == '#' || c == '\\' || c < ' ' || c == 0x7f || c >= 0x80:
		return errSQLSymbol // "#" begins a comment in MySQL, "\" a command of psql
	default:
		l.put(sqlSymbol, rest[:size])
		l.at += size
	}
	return nil
}

func nameRune(c rune) bool {
	return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.Is(unicode.M, c)
}

// lineComment goes to the end of the line. MySQL wants a blank behind the dashes and takes
// them for two signs without one.
func (l *sqlLexer) lineComment(rest string) error {
	if len(rest) > 2 && !strings.ContainsAny(rest[2:3], " \t\n\r") {
		return errSQLComment
	}
	line, _ := cutAt(rest, "\n")
	if strings.ContainsAny(strings.TrimRight(line, "\r"), "\r\u0085\u2028\u2029") {
		return errSQLComment // some end the line there
	}
	l.at += len(line)
	return nil
}

// comment goes behind a comment. PostgreSQL nests them, MySQL runs what is in /*! … */.
func (l *sqlLexer) comment(rest string) error {
	inner, _, closed := strings.Cut(rest[2:], "*/")
	if !closed || strings.Contains(inner, "/*") || strings.HasPrefix(inner, "!") || strings.HasPrefix(inner, "M!") || strings.HasPrefix(inner, "/") {
		return errSQLComment
	}
	l.at += len(inner) + 4
	return nil
}

// quoted reads a string or a quoted name. The quote itself is doubled in it; MySQL also takes
// one behind a backslash for part of it, others do not.
func (l *sqlLexer) quoted(rest string) error {
	quote := rest[:1]
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == 0:
			return errSQLSymbol
		case rest[i] == '\\' && quote != "`":
			run := len(rest[i:]) - len(strings.TrimLeft(rest[i:], `\`))
			if run%2 == 1 && strings.HasPrefix(rest[i+run:], quote) {
				return errSQLQuote
			}
			i += run - 1
		case rest[i:i+1] != quote:
		case strings.HasPrefix(rest[i+1:], quote):
			i++
		default:
			kind := sqlName
			if quote == "'" {
				kind = sqlText
			}
			l.put(kind, rest[:i+1])
			l.at += i + 1
			return nil
		}
	}
	return errSQLQuote
}

// dollar reads $1, $name or a string between $tag$ and $tag$, which is none outside
// PostgreSQL: it must hold nothing that would be a statement of its own there.
func (l *sqlLexer) dollar(rest string) error {
	end := 1
	for end < len(rest) && (nameRune(rune(rest[end])) || rest[end] >= 0x80) {
		end++
	}
	if end == len(rest) || rest[end] != '$' {
		l.put(sqlSymbol, rest[:end])
		l.at += end
		return nil
	}
	tag := rest[:end+1]
	inner, _, closed := strings.Cut(rest[len(tag):], tag)
	if !closed || strings.ContainsAny(inner, ";'\"`") || strings.Contains(inner, "--") || strings.Contains(inner, "/*") {
		return errSQLQuote
	}
	l.put(sqlText, tag+inner+tag)
	l.at += len(inner) + 2*len(tag)
	return nil
}

// bracket reads [name] of SQL Server and SQLite, or the subscript of an array: either way it
// ends at the next bracket, and what is in it must be whole in itself.
func (l *sqlLexer) bracket(rest string) error {
	inner, _, closed := strings.Cut(rest[1:], "]")
	if !closed || strings.ContainsAny(inner, "[;") {
		return errSQLBracket
	}
	tokens, err := sqlTokens(inner)
	if err != nil {
		return err
	}
	l.put(sqlSymbol, "[")
	l.tokens = append(l.tokens, tokens...)
	l.put(sqlSymbol, "]")
	l.at += len(inner) + 2
	return nil
}

// number reads digits; with a fraction, an exponent or letters it counts as a symbol.
func (l *sqlLexer) number(rest string) {
	end := len(rest)
	for i, c := range rest {
		if !nameRune(c) && c != '.' {
			end = i
			break
		}
	}
	kind := sqlNumber
	if strings.Trim(rest[:end], "0123456789") != "" {
		kind = sqlSymbol
	}
	l.put(kind, rest[:end])
	l.at += end
}

func (l *sqlLexer) name(rest string) error {
	end := len(rest)
	for i, c := range rest {
		if i > 0 && !nameRune(c) && c != '$' {
			end = i
			break
		}
	}
	word := upper(rest[:end])
	if (word == "Q" || word == "NQ") && strings.HasPrefix(rest[end:], "'") { // a string of Oracle: q'[it's]'
		return errSQLQuote
	}
	l.put(sqlWord, word)
	l.at += end
	return nil
}

// upper changes letters of ASCII alone: no keyword has others.
func upper(word string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' {
			return c - 'a' + 'A'
		}
		return c
	}, word)
}
