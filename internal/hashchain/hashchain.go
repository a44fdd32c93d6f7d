// SPDX-License-Identifier: Apache-2.0

// Package hashchain seals lines of JSON with their hash, of which each carries that of the one
// before it, and recognizes what a crash leaves of one.
package hashchain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// A line ends with its hash, which covers the bytes before it, so that a reader need not encode
// JSON in the same way.
const (
	beforeHash = `,"hash":"`
	afterHash  = `"}`
	hashLength = 2 * sha256.Size
)

// Seal returns an object of JSON as a line, without newline, and its hash.
func Seal(object []byte) (line []byte, hash string) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(object, []byte("\n")), []byte("}"))
	hash = sum(line)
	return append(line, beforeHash+hash+afterHash...), hash
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Check returns the hash that a line claims, and whether it is that of the line. It is not ok for
// what no Seal has written.
func Check(line []byte) (hash string, intact, ok bool) {
	at := len(line) - len(beforeHash) - hashLength - len(afterHash)
	if at < 0 || string(line[at:at+len(beforeHash)]) != beforeHash || string(line[len(line)-len(afterHash):]) != afterHash {
		return "", false, false
	}
	hash = string(line[at+len(beforeHash) : len(line)-len(afterHash)])
	return hash, hash == sum(line[:at]), IsHash(hash)
}

// IsHash says whether s has the form of a hash.
func IsHash(s string) bool {
	if len(s) != hashLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Torn reports whether rest looks like a single append that a crash cut short: part of a line of
// at most limit bytes, or a line with holes that a power cut left. A line that follows an
// unterminated one begins with a newline.
func Torn(rest []byte, limit int) bool {
	if len(rest) > limit {
		return false
	}
	return !bytes.ContainsRune(bytes.TrimPrefix(rest, []byte("\n")), '\n') || bytes.IndexByte(rest, 0) >= 0
}
