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
	"strings"
)

// maxDecodings is how often a value may be percent-encoded.
const maxDecodings = 3

// Errors of values that are read in no one way.
var (
	errZero     = errors.New("it holds a zero byte")
	errControl  = errors.New("it holds a control character")
	errEncoding = errors.New("it is percent-encoded too often")
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
		text = decoded
		all = append(all, text)
	}
	if _, changed := unescape(text); changed {
		return nil, errEncoding
	}
	return all, nil
}

// unescape takes one level of percent-encoding away. A percent sign that encodes nothing
// stays, as lenient decoders leave it.
func unescape(text string) (string, bool) {
	if !strings.Contains(text, "%") {
		return text, false
	}
	var b strings.Builder
	changed := false
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := unhex(text[i+1]), unhex(text[i+2])
			if high >= 0 && low >= 0 {
				b.WriteByte(byte(high<<4 | low))
				i += 2
				changed = true
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), changed
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	default:
		return -1
	}
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
