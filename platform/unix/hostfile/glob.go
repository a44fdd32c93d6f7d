// SPDX-License-Identifier: Apache-2.0

package hostfile

import "strings"

// Glob reports whether a name in a directory is one that a pattern of glob(3) stands for, as programs in C take it:
// "[!…]" and "[[:class:]]", which path.Match takes for something else, and no hidden name for a wildcard.
func Glob(pattern, name string) bool {
	hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(strings.TrimPrefix(pattern, `\`), ".")
	return !hidden && Fnmatch(pattern, name)
}

// Fnmatch reports whether a pattern of fnmatch(3) stands for a text, byte by byte as in the locale C. It takes
// the time of the one length times the other.
func Fnmatch(pattern, text string) bool {
	rest, again, star := text, "", -1 // behind the last star, what it may still take
	at := 0
	for at < len(pattern) || rest != "" {
		if at < len(pattern) && pattern[at] == '*' {
			at++
			star, again = at, rest
			continue
		}
		if length, fits := one(pattern[at:], rest); fits {
			at, rest = at+length, rest[1:]
			continue
		}
		if star < 0 || again == "" {
			return false
		}
		again = again[1:]
		at, rest = star, again
	}
	return true
}

// one reports whether a pattern begins with what stands for the first byte of a text, and how long that is.
func one(pattern, text string) (length int, fits bool) {
	if pattern == "" || text == "" {
		return 0, false
	}
	switch c := pattern[0]; {
	case c == '?':
		return 1, true
	case c == '[':
		if length, fits = bracket(pattern, text[0]); length > 0 {
			return length, fits
		}
	case c == '\\' && len(pattern) > 1:
		return 2, pattern[1] == text[0]
	}
	return 1, pattern[0] == text[0]
}

// bracket reads a list of bytes, "[a-z_]" or "[!a]". The length is 0 where it is never closed: then the bracket
// stands for itself.
func bracket(pattern string, c byte) (length int, fits bool) {
	at := 1
	not := at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^')
	if not {
		at++
	}
	for first := at; at < len(pattern); {
		if pattern[at] == ']' && at > first {
			return at + 1, fits != not
		}
		if name, ok := class(pattern[at:]); ok {
			fits = fits || ofClass(name, c)
			at += len("[::]") + len(name)
			continue
		}
		from, next := literal(pattern, at)
		to := from
		if at = next; at+1 < len(pattern) && pattern[at] == '-' && pattern[at+1] != ']' {
			to, at = literal(pattern, at+1)
		}
		fits = fits || from <= c && c <= to
	}
	return 0, false
}

// literal is the byte of a list at a place, and the place behind it.
func literal(pattern string, at int) (c byte, next int) {
	rest := pattern[at:]
	switch {
	case len(rest) > 1 && rest[0] == '\\':
		return rest[1], at + 2
	case len(rest) > 4 && rest[0] == '[' && strings.IndexByte(".=", rest[1]) >= 0 && rest[3] == rest[1] && rest[4] == ']': // [.-.]
		return rest[2], at + 5
	default:
		return rest[0], at + 1
	}
}

// class is the name in "[:name:]".
func class(pattern string) (name string, ok bool) {
	if rest, is := strings.CutPrefix(pattern, "[:"); is {
		name, _, ok = strings.Cut(rest, ":]")
	}
	return name, ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == ""
}

// ofClass reports whether a byte is of a class (isalpha(3)), in the locale C.
func ofClass(name string, c byte) bool {
	upper, lower, digit := c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9'
	printed := c > ' ' && c < 0x7f
	switch name {
	case "alnum":
		return upper || lower || digit
	case "alpha":
		return upper || lower
	case "blank":
		return c == ' ' || c == '\t'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "digit":
		return digit
	case "graph":
		return printed
	case "lower":
		return lower
	case "print":
		return printed || c == ' '
	case "punct":
		return printed && !upper && !lower && !digit
	case "space":
		return strings.IndexByte(" \t\n\v\f\r", c) >= 0
	case "upper":
		return upper
	case "xdigit":
		return digit || strings.IndexByte("abcdefABCDEF", c) >= 0
	default:
		return false
	}
}
