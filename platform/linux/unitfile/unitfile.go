// SPDX-License-Identifier: Apache-2.0

// Package unitfile reads files of settings as systemd has them (systemd.syntax(7)).
package unitfile

import (
	"iter"
	"strconv"
	"strings"

	"sentinel/platform/unix/shellscript"
)

// maxJoined bounds a line that goes on in the next, in bytes.
const maxJoined = 1 << 20

// Words splits a line at blanks outside of quotes, and decodes what a backslash stands before (C, as of
// systemd.syntax(7)); what is not of those loses its backslash.
func Words(line string) []string {
	var words []string
	var word strings.Builder
	quote, has := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			decoded, length := unescape(line[i+1:])
			word.WriteString(decoded)
			i += length
			has = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, has = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if has {
				words = append(words, word.String())
			}
			word.Reset()
			has = false
		default:
			word.WriteByte(c)
			has = true
		}
	}
	if has {
		words = append(words, word.String())
	}
	return words
}

// escapes are what a letter stands for behind a backslash. A newline stays as it is written: it stands between names.
var escapes = map[byte]string{'a': "\a", 'b': "\b", 'f': "\f", 'n': `\n`, 'r': "\r", 't': "\t", 'v': "\v", 's': " "}

// unescape decodes what stands behind a backslash, which is not at the end, and returns how many bytes that are.
func unescape(text string) (decoded string, length int) {
	letter, digits, base, bits := 1, 0, 16, 8
	switch c := text[0]; {
	case c == 'x':
		digits = 2
	case c == 'u':
		digits, bits = 4, 32
	case c == 'U':
		digits, bits = 8, 32
	case c >= '0' && c <= '7':
		letter, digits, base = 0, 3, 8
	}
	if end := letter + digits; digits > 0 && len(text) >= end {
		if code, err := strconv.ParseUint(text[letter:end], base, bits); err == nil && code != 0 && code != '\n' {
			return character(code, bits > 8), end
		}
	}
	if known, ok := escapes[text[0]]; ok {
		return known, 1
	}
	return text[:1], 1
}

// character is a byte, or a code point of Unicode in UTF-8.
func character(code uint64, unicode bool) string {
	if unicode {
		return string(rune(code))
	}
	return string([]byte{byte(code)})
}

// lineEnds are what ends a line for systemd (read_line() in its fileio.c).
const lineEnds = "\r\n\x00"

// byteOrderMark may stand before a text in UTF-8; systemd takes it off the first line that has it and is no comment.
const byteOrderMark = "\ufeff"

// Lines are the lines of a file of systemd's, for which a carriage return and NUL end one, too. Of empty lines that
// follow one another it has one: a file may be of nothing else.
func Lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for left := text; left != ""; {
			line := left
			if at := strings.IndexAny(left, lineEnds); at >= 0 {
				line = left[:at]
			}
			left = left[len(line):]
			left = left[lineEnd(left):]
			if line == "" {
				left = strings.TrimLeft(left, lineEnds)
			}
			if !yield(line) {
				return
			}
		}
	}
}

// lineEnd returns how long the end of a line at the beginning of a text is: each of its bytes once, NUL the last.
func lineEnd(text string) int {
	for n := range min(len(text), len(lineEnds)) {
		if !strings.Contains(lineEnds, text[n:n+1]) || strings.Contains(text[:n], text[n:n+1]) {
			return n
		}
		if text[n] == 0 {
			return n + 1
		}
	}
	return min(len(text), len(lineEnds))
}

// isContinued reports whether the next line belongs to one: a backslash escapes another.
func isContinued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// Settings calls use for each setting of a file with sections, as of systemd.syntax(7) and desktop
// entries. A backslash at the end joins the next line.
func Settings(text string, use func(section, name, value string)) {
	section, unmarked := "", false
	var joined strings.Builder // a file may be of nothing but such lines
	for line := range Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if after, marked := strings.CutPrefix(trimmed, byteOrderMark); marked && !unmarked {
			line, unmarked = after, true
		}
		if isContinued(line) && joined.Len() < maxJoined {
			joined.WriteString(line[:len(line)-1] + " ")
			continue
		}
		line = strings.TrimSpace(joined.String() + line)
		joined.Reset()
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSuffix(line[1:], "]")
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			use(section, strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
}

// Variables calls use for each variable of a file of EnvironmentFile= (systemd.exec(5)) or environment.d(5). What a
// quote has over several lines is taken for several, of which each may be a variable.
func Variables(text string, use func(name, value string)) {
	var joined strings.Builder
	for line := range Lines(text) {
		line = strings.TrimLeft(line, " \t")
		if joined.Len() == 0 && strings.ContainsAny(line[:min(1, len(line))], "#;") {
			continue
		}
		if isContinued(line) && joined.Len() < maxJoined {
			joined.WriteString(line[:len(line)-1])
			continue
		}
		if name, value, ok := strings.Cut(joined.String()+line, "="); ok {
			use(strings.TrimSpace(name), shellscript.Unquoted(strings.TrimSpace(value)))
		}
		joined.Reset()
	}
}
