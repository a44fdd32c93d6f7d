// SPDX-License-Identifier: Apache-2.0

// Package unitfile reads files of settings as systemd has them (systemd.syntax(7)).
package unitfile

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"sentinel/platform/unix/shellscript"
)

// SystemBusServices are the directories of what a call on the bus of the system starts (dbus-daemon(1),
// standard_system_servicedirs).
var SystemBusServices = []string{
	"/etc/dbus-1/system-services", "/run/dbus-1/system-services", "/usr/local/share/dbus-1/system-services", "/usr/share/dbus-1/system-services", "/lib/dbus-1/system-services",
}

// RootSettings are those by which a unit sees other files than the system has (systemd.exec(5)).
var RootSettings = []string{"RootDirectory", "RootImage", "BindPaths", "BindReadOnlyPaths", "MountImages", "ExtensionImages", "ExtensionDirectories"}

const blanks = " \t"

// maxJoined bounds a line that goes on in the next, in bytes.
const maxJoined = 1 << 20

// Words splits a line at blanks outside of quotes, and decodes what a backslash stands before (C, as of
// systemd.syntax(7)); what is not of those loses its backslash.
func Words(line string) []string {
	var words []string
	for rest := strings.TrimLeft(line, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		var word string
		word, rest = firstWord(rest)
		words = append(words, word)
	}
	return words
}

// Commands are the words of each command of a setting such as ExecStart= (systemd.service(5)): a semicolon alone stands
// between two of them, and behind a backslash for itself.
func Commands(line string) (list [][]string) {
	var words []string
	for rest := strings.TrimLeft(line, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		var word string
		switch {
		case isAlone(rest, ";"):
			list, words, rest = append(list, words), nil, rest[1:]
			continue
		case isAlone(rest, `\;`):
			word, rest = ";", rest[2:]
		default:
			word, rest = firstWord(rest)
		}
		words = append(words, word)
	}
	return slices.DeleteFunc(append(list, words), func(words []string) bool { return words == nil })
}

func isAlone(text, sign string) bool {
	after, ok := strings.CutPrefix(text, sign)
	return ok && (after == "" || strings.IndexByte(blanks, after[0]) >= 0)
}

// firstWord reads the word at the beginning of a text that begins with no blank.
func firstWord(text string) (word, rest string) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			decoded, length := unescape(text[i+1:])
			b.WriteString(decoded)
			i += length
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.IndexByte(blanks, c) >= 0:
			return b.String(), text[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
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
		if shellscript.IsContinued(line) && joined.Len() < maxJoined {
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
