// SPDX-License-Identifier: Apache-2.0

package sanitize

import "strings"

// Line returns a line of a log as it is shown: like [Reason], with the lines of a private key and the
// like, which are nothing but base64, hidden as well.
func Line(s string, limit int) string {
	if encoded(strings.TrimSuffix(strings.TrimSpace(s), mark)) {
		return Text(Redacted, limit)
	}
	return Reason(s, limit)
}

// encoded reports whether s is one long word of base64, of all kinds of its characters, or the last line of
// such, which is shorter and padded. A checksum in hexadecimal is none.
func encoded(s string) bool {
	shortest := 40
	if strings.HasSuffix(s, "=") {
		shortest = 16
	}
	upper, lower, digit := false, false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= '0' && c <= '9':
			digit = true
		case c != '+' && c != '/' && c != '=' && c != '-' && c != '_':
			return false
		}
	}
	return len(s) >= shortest && upper && lower && digit
}
