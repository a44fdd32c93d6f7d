// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"math/big"
	"strconv"
)

// maxWhole is the largest whole number that an id may be. Most readers make a number
// a double, which beyond 2^53 no longer stands for one integer: the answer would go to
// another request.
const maxWhole = 1 << 53

// An ID is the id of a request as it came; nil when there is none.
type ID []byte

// Key returns a text that is the same for two ids when they are the same to every
// reader. Ids differ by kind and by spelling: 1, 1.0 and "1" are three. It is false for what
// cannot be the id of a request: null, a boolean, an array, an object, and a number that no
// double holds exactly.
func (id ID) Key() (string, bool) {
	var room [64]byte // most keys need no other
	key, ok := id.AppendKey(room[:0])
	return string(key), ok
}

// AppendKey appends the key to b.
func (id ID) AppendKey(b []byte) (key []byte, ok bool) {
	switch {
	case len(id) == 0:
		return b, false
	case id[0] == '"':
		said, ok := Text(id)
		return append(append(b, textKind...), said...), ok
	case id[0] == '-', digit(id[0]):
		return append(append(b, "number "...), id...), exact(string(id))
	default:
		return b, false
	}
}

const textKind = "text "

// TextKey returns the key of an id that is a text.
func TextKey(said string) string { return textKind + said }

// Whole says that the id is a whole number in its plain form.
func (id ID) Whole() bool {
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// maxNumber is the longest number in bytes that is looked at; doubles that stand
// for themselves are shorter.
const maxNumber = 32

// exact says that a double holds a number exactly, and no other of its size.
func exact(number string) bool {
	if len(number) > maxNumber {
		return false
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		return n <= maxWhole && n >= -maxWhole
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f > maxWhole || f < -maxWhole {
		return false
	}
	if f == 0 { // or so small that it became that; its exponent may be of any size
		mantissa, _, _ := bytes.Cut(bytes.ToLower([]byte(number)), []byte("e"))
		return !bytes.ContainsAny(mantissa, "123456789")
	}
	said, ok := new(big.Rat).SetString(number)
	return ok && said.Cmp(new(big.Rat).SetFloat64(f)) == 0
}
