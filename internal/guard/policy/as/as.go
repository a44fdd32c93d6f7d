// SPDX-License-Identifier: Apache-2.0

// Package as understands the values of a call: a path, an address on the web, a
// host, a command of a shell, statements of SQL.
//
// A value may be understood in more than one way, because who gets it may decode it, or may not.
// Each function returns all the readings that a program would make of it, and an error where they
// cannot be told. A rule that forbids looks for one reading that it forbids, a rule that allows
// wants every one allowed: so neither is led astray by how a value is written.
package as

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// maxDecodings is how often a value may be percent-encoded.
const maxDecodings = 3

// Errors of values that are read in no one way.
var (
	errZero     = errors.New("it holds a zero byte")
	errControl  = errors.New("it holds a control character")
	errEncoding = errors.New("it is percent-encoded too often")
	errOverlong = errors.New("it holds a character in a longer encoding than it has")
)

// control says that c is a control character of ASCII.
func control(c rune) bool { return c < ' ' || c == 0x7f }

func hasControl(text string) bool { return strings.ContainsFunc(text, control) }

// decodings returns text, and what it is once its percent-encoding is taken away, as often as
// there is any.
func decodings(text string) ([]string, error) {
	all := []string{text}
	for range maxDecodings {
		decoded, changed := unescape(text)
		if !changed {
			return all, nil
		}
		if text = decoded; overlong(text) {
			return nil, errOverlong
		}
		all = append(all, text)
	}
	if _, changed := unescape(text); changed {
		return nil, errEncoding
	}
	return all, nil
}

// overlong says whether text holds UTF-8 of more bytes than the character needs (RFC 3629, section
// 10), which careless decoders take for a dot or a slash.
func overlong(text string) bool {
	for i := 0; i+1 < len(text); i++ {
		first, next := text[i], text[i+1]
		switch {
		case next < 0x80 || next > 0xbf:
		case first == 0xc0, first == 0xc1, first == 0xe0 && next < 0xa0, first == 0xf0 && next < 0x90:
			return true
		}
	}
	return false
}

// unescape takes one level of percent-encoding away. A percent sign that encodes nothing
// stays, as lenient decoders leave it.
func unescape(text string) (string, bool) {
	if !strings.Contains(text, "%") {
		return text, false
	}
	var b strings.Builder
	changed := false
	for i := 0; i < len(text); {
		n := escape(text[i:], &b)
		changed = changed || n > 0
		if n == 0 {
			b.WriteByte(text[i])
			n = 1
		}
		i += n
	}
	return b.String(), changed
}

// escape decodes what text begins with, %2e or %u002e, and returns its length, 0 when that encodes
// nothing.
func escape(text string, into *strings.Builder) int {
	if text[0] != '%' {
		return 0
	}
	if len(text) > 2 {
		if c, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			into.WriteByte(byte(c))
			return len("%2e")
		}
	}
	if len(text) > 5 && text[1]|0x20 == 'u' { // of ECMAScript's escape(), and IIS
		if c, err := strconv.ParseUint(text[2:6], 16, 16); err == nil {
			into.WriteRune(rune(c))
			return len("%u002e")
		}
	}
	return 0
}

// add appends what is not in list yet.
func add(list []string, items ...string) []string {
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}
