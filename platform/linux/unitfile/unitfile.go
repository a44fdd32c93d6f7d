// SPDX-License-Identifier: Apache-2.0

// Package unitfile reads files of settings as systemd has them (systemd.syntax(7)).
package unitfile

import "strings"

// maxJoined bounds a line that goes on in the next, in bytes.
const maxJoined = 1 << 20

// Words splits a line at blanks outside of quotes.
func Words(line string) []string {
	var words []string
	var word strings.Builder
	quote, has := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
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

// Settings calls use for each setting of a file with sections, as of systemd.syntax(7) and desktop
// entries. A backslash at the end joins the next line.
func Settings(text string, use func(section, name, value string)) {
	section := ""
	var joined strings.Builder // a file may be of nothing but such lines
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ";") {
			continue
		}
		if before, ok := strings.CutSuffix(line, `\`); ok && joined.Len() < maxJoined {
			joined.WriteString(before + " ")
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

// Variables calls use for each variable of a file of EnvironmentFile= (systemd.exec(5)).
func Variables(text string, use func(name, value string)) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.ContainsAny(name[:min(1, len(name))], "#;") {
			use(strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
}
