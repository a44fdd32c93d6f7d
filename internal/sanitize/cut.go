// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut returns the beginning of a text that is to be redacted, at most limit bytes of it and a mark. Half of a
// secret may look like none, such as a password in a URL without the @ behind it; so a text ends with a whole
// word, or before what may be one.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	s = s[:limit]
	at := strings.LastIndexFunc(s, unicode.IsSpace) + 1
	last := s[at:]
	if scheme := strings.LastIndex(last, "://"); scheme >= 0 {
		last = last[:scheme+len("://")]
	} else if name := strings.IndexAny(last, ":=@"); name >= 0 {
		last = last[:name+1]
	}
	return s[:at] + last + mark
}

// mark stands at the end of a text that was cut.
const mark = "…"
