// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"slices"
	"strings"
)

// statement returns the first line of text, joined with those that a backslash at its end
// continues it with, without its comment, and how much of text that was. A comment ends with its
// line, whatever stands at its end.
func statement(text string) (joined string, size, lines int) {
	if line, _, _ := strings.Cut(text, "\n"); isInclude(line) {
		return line, min(len(line)+1, len(text)), 1
	}
	var b strings.Builder
	quotes, quoted := true, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return b.String(), i + 1, lines + 1
		case c == '\\' && newline(text[i+1:]) > 0:
			i += newline(text[i+1:])
			lines++
			c = ' '
		case escapes(text[i:], quoted):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"' && quotes:
			quoted = !quoted
		case quoted:
		case c == '=':
			quotes = quotes && quotesValues(b.String())
		case c == '#' && !isID(text[i:]):
			size = len(text)
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				size = i + end + 1
			}
			return b.String(), size, lines + 1
		}
		b.WriteByte(c)
	}
	return b.String(), len(text), lines + 1
}

// isInclude says whether a line includes others. Neither does a backslash join such a
// line to the next, nor begins a comment in the middle of the name.
func isInclude(line string) bool {
	word, _ := cutWord(line)
	if word == "" {
		word, _ = cutWord(strings.TrimSpace(line))
		return word == "@include" || word == "@includedir" // "#include" counts only where the line begins
	}
	return slices.Contains([]string{"@include", "@includedir", "#include", "#includedir"}, word)
}

// newline returns the length of the line break that text begins with, 0 for none.
func newline(text string) int {
	switch {
	case strings.HasPrefix(text, "\n"):
		return 1
	case strings.HasPrefix(text, "\r\n"):
		return 2
	default:
		return 0
	}
}

// escapes says whether text begins with a backslash that takes the next character's
// meaning away. Within quotes only a quote can lose it.
func escapes(text string, quoted bool) bool {
	return len(text) > 1 && text[0] == '\\' && (!quoted || text[1] == '"')
}

// quotesValues says whether the line that begins so has quotes behind its "=" too:
// in the arguments of a command they are characters like others.
func quotesValues(line string) bool {
	word, _ := cutWord(strings.TrimSpace(line))
	return isDefaults(word) || isOtherAlias(word)
}

func isDefaults(word string) bool {
	scope, ok := strings.CutPrefix(word, "Defaults")
	return ok && (scope == "" || strings.ContainsRune(":@!>", rune(scope[0])))
}

// isOtherAlias says whether the word introduces aliases of anything but commands.
func isOtherAlias(word string) bool {
	return word == "User_Alias" || word == "Runas_Alias" || word == "Host_Alias"
}

// isID tells the id of a user or group, "#1000" or "#-1", from a comment.
func isID(text string) bool {
	digits := strings.TrimPrefix(text[1:], "-")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9'
}

func cutWord(text string) (word, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// cutQuoted is [cutWord] for words that may have quoted or escaped blanks.
func cutQuoted(text string) (word, rest string) {
	at := find(text, " \t", true)
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// negations returns text without the "!" before it, and whether they negate it: two
// cancel each other.
func negations(text string) (string, bool) {
	odd := false
	for text = strings.TrimSpace(text); strings.HasPrefix(text, "!"); text = strings.TrimSpace(text[1:]) {
		odd = !odd
	}
	return text, odd
}

// split cuts text at each separator that [find] finds. Unlike a shell, sudo leaves the quotes and
// backslashes to whoever reads the piece.
func split(text string, separator byte, quotes bool) []string {
	var list []string
	for {
		at := find(text, string(separator), quotes)
		if at < 0 {
			return append(list, text)
		}
		list = append(list, text[:at])
		text = text[at+1:]
	}
}

// find returns the index of the first of the separators that is not escaped and, where text may have
// quotes, not quoted; -1 for none.
func find(text, separators string, quotes bool) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case escapes(text[i:], quoted):
			i++
		case c == '"' && quotes:
			quoted = !quoted
		case !quoted && strings.IndexByte(separators, c) >= 0:
			return i
		}
	}
	return -1
}
