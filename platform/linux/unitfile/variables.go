// SPDX-License-Identifier: Apache-2.0

package unitfile

import "strings"

// Variables calls use for each variable of a file of EnvironmentFile= (systemd.exec(5)) or environment.d(5). Unlike in
// a unit, only a value goes on behind a backslash at the end of a line, and quotes may have lines within them.
func Variables(text string, use func(name, value string)) {
	for {
		text = strings.TrimLeft(text, blanks+lineEnds)
		if text == "" {
			return
		}
		line := text
		if end := strings.IndexAny(text, lineEnds); end >= 0 {
			line = text[:end]
		}
		at := strings.IndexByte(line[1:], '=') + 1 // of what has no name, the first is part of it
		if at == 0 || strings.IndexByte("#;", text[0]) >= 0 {
			text = text[len(line):]
			continue
		}
		var value string
		value, text = valueOf(text[at+1:])
		if line[0] != '=' {
			use(strings.TrimRight(line[:at], blanks), value)
		}
	}
}

// valueOf reads the value at the beginning of a text (parse_env_file_internal() in systemd's env-file.c): what is quoted
// at its beginning, and what follows up to the end of the line, in which quotes are nothing but that.
func valueOf(text string) (value, rest string) {
	var b strings.Builder
	begins, kept := true, 0 // whether quotes are such, and what no blank is taken off from
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.IndexByte(lineEnds, c) >= 0:
			return trimmed(b.String(), kept), text[i:]
		case begins && (c == '"' || c == '\''):
			i += quoted(text[i:], &b)
			kept = b.Len()
		case begins && strings.IndexByte(blanks, c) >= 0:
		case c == '\\':
			if i++; i < len(text) && strings.IndexByte(lineEnds, text[i]) < 0 {
				b.WriteByte(text[i])
			}
			begins, kept = false, b.Len()
		default:
			begins = false
			b.WriteByte(c)
		}
	}
	return trimmed(b.String(), kept), ""
}

func trimmed(value string, kept int) string {
	return value[:kept] + strings.TrimRight(value[kept:], blanks)
}

// quoted writes what is in the quotes that a text begins with, and returns where the last one is.
func quoted(text string, b *strings.Builder) (end int) {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return i
		case c == '\\' && text[0] == '"' && i+1 < len(text) && strings.IndexByte("\"\\`$\n", text[i+1]) >= 0:
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return len(text)
}
