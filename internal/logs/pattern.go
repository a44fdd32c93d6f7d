// SPDX-License-Identifier: Apache-2.0

package logs

import "bytes"

// mask stands in a pattern for what differs between lines that are equal otherwise.
const mask = '#'

// maxPattern bounds how much of a line counts for its pattern, in bytes: what differs only further
// on is one pattern.
const maxPattern = 512

// appendPattern appends the pattern of a line to out. Numbers, addresses, hexadecimal and mixed ids,
// times and quoted values become a mask each; a run of masks with only punctuation between them, such
// as an address or a UUID, becomes one. White space at the ends and repeated blanks do not count.
func appendPattern(out, line []byte) []byte {
	line = bytes.TrimSpace(line)
	line = line[:min(len(line), maxPattern)]
	start := len(out)
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case isWord(c):
			end := i + 1
			for end < len(line) && isWord(line[end]) {
				end++
			}
			out = appendWord(out, start, line[i:end])
			i = end
		case c == '"' || c == '\'' && !wordBefore(line, i):
			end := closing(line, i)
			if end < 0 {
				out = append(out, c)
				i++
				continue
			}
			out = append(out, c, mask, c)
			i = end + 1
		default:
			if c != ' ' || len(out) == start || out[len(out)-1] != ' ' {
				out = append(out, c)
			}
			i++
		}
	}
	return out
}

// isWord holds for letters and digits, those of other scripts included.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func wordBefore(line []byte, i int) bool { return i > 0 && isWord(line[i-1]) }

// closing returns where the quotation that begins at i ends, or a number below 0.
func closing(line []byte, i int) int {
	for end := i + 1; end < len(line); end++ {
		switch line[end] {
		case '\\':
			end++
		case line[i]:
			return end
		}
	}
	return -1
}

// appendWord appends a word with what differs in it masked.
func appendWord(out []byte, start int, word []byte) []byte {
	changes, digits, hex := 0, 0, true
	for i, c := range word {
		if isDigit(c) {
			digits++
		}
		if i > 0 && isDigit(c) != isDigit(word[i-1]) {
			changes++
		}
		hex = hex && isHex(c)
	}
	switch inAddress := joint(out, start) > 0; {
	case digits == len(word), hex && digits > 0, changes >= 3, bytes.HasPrefix(word, []byte("0x")) && digits > 0, hex && inAddress:
		return appendMask(out, start)
	case digits == 0:
		return append(out, word...)
	}
	for i, c := range word { // eth0, 15ms
		switch {
		case !isDigit(c):
			out = append(out, c)
		case i == 0:
			out = appendMask(out, start)
		case !isDigit(word[i-1]):
			out = append(out, mask)
		}
	}
	return out
}

// appendMask appends a mask, or lets the one before it stand for both.
func appendMask(out []byte, start int) []byte {
	if n := joint(out, start); n > 0 {
		return out[:len(out)-n]
	}
	return append(out, mask)
}

// joint returns how many bytes at the end are punctuation within a number, an address, an id or a
// time, after a mask: at most two, as in 2001:db8::1. The first of a word, as in -5, is none.
func joint(out []byte, start int) int {
	for n := 1; n <= 2 && len(out)-n > start; n++ {
		if bytes.IndexByte([]byte(".:-+,/"), out[len(out)-n]) < 0 {
			return 0
		}
		if out[len(out)-n-1] == mask {
			return n
		}
	}
	return 0
}
