// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"math/big"
	"strings"
)

// compareNumbers compares two numbers of JSON by their digits, so that 9007199254740993 is greater
// than 9007199254740992 and an exponent of a billion costs nothing.
func compareNumbers(a, b string) int {
	x, y := parseNumber(a), parseNumber(b)
	switch {
	case x.sign != y.sign:
		return cmp.Compare(x.sign, y.sign)
	case x.sign == 0:
		return 0
	}
	c := x.point.Cmp(y.point)
	if c == 0 {
		c = strings.Compare(x.digits, y.digits)
	}
	return c * x.sign
}

// A number is sign × 0.digits × 10^point, its digits without zeros at either end.
type number struct {
	sign   int
	digits string
	point  *big.Int
}

func parseNumber(text string) number {
	n := number{sign: 1}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		n.sign, text = -1, rest
	}
	mantissa, exponent := text, "0"
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, exponent = text[:at], text[at+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	n.digits = strings.TrimRight(digits, "0")
	if n.digits == "" {
		return number{point: new(big.Int)}
	}
	n.point = exponentOf(exponent)
	n.point.Add(n.point, big.NewInt(int64(len(digits)-len(fraction))))
	return n
}

// maxExponent is how many digits of an exponent are read. Longer ones are the greatest or the least
// there is: a million digits would take their time.
const maxExponent = 64

func exponentOf(text string) *big.Int {
	digits, negative := strings.CutPrefix(strings.TrimPrefix(text, "+"), "-")
	if digits = strings.TrimLeft(digits, "0"); len(digits) > maxExponent {
		digits = "1" + strings.Repeat("0", maxExponent)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	switch {
	case !ok: // no digits
		return new(big.Int)
	case negative:
		n.Neg(n)
	}
	return n
}

// isJSONNumber says whether text is spelt as JSON spells numbers (RFC 8259, 6).
func isJSONNumber(text string) bool {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	text = strings.TrimPrefix(text, "-")
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exponent := text[at+1:]
		if exponent != "" && strings.ContainsAny(exponent[:1], "+-") {
			exponent = exponent[1:]
		}
		if !digits(exponent) {
			return false
		}
		text = text[:at]
	}
	whole, fraction, hasFraction := strings.Cut(text, ".")
	return digits(whole) && (whole == "0" || whole[0] != '0') && (!hasFraction || digits(fraction))
}
