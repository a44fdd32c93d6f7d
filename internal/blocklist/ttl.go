// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// The bounds of a block that ends. Below a minute the end comes before anyone
// has read the answer; ten years are beyond any machine's clock drift and planning.
const (
	minTTL = time.Minute
	maxTTL = 10 * 365 * day
)

const day = 24 * time.Hour

// units are what a time is written in, longest first.
var units = []struct {
	letter byte
	length time.Duration
}{{'w', 7 * day}, {'d', day}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// ParseTTL reads how long a block lasts: whole numbers with their units from
// the longest to the shortest, such as 30m, 24h, 7d or 1d12h. Nothing means that it does not
// end by itself, which is 0. Everything else is INVALID_ARGUMENT.
func ParseTTL(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	total, ok := duration(text)
	if !ok {
		return 0, wrongTTL(text, "is not a time")
	}
	if total < minTTL || total > maxTTL {
		return 0, wrongTTL(text, "is out of range")
	}
	return total, nil
}

func wrongTTL(text, what string) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("The ttl %s %s.", sanitize.Quoted(text, 30), what)).
		WithFix("Send a time from 1m to 3650d with the units w, d, h, m and s, such as 30m, 24h or 7d; leave it out for a block that does not end.")
}

// duration adds up the parts of text. One beyond the bound counts as a little
// more than the bound, so that the sum cannot overflow.
func duration(text string) (total time.Duration, ok bool) {
	next := 0
	for text != "" {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if digits == 0 || digits == len(text) {
			return 0, false
		}
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		if err != nil { // more digits than it can have
			n = math.MaxInt64
		}
		for next < len(units) && units[next].letter != text[digits] {
			next++
		}
		if next == len(units) {
			return 0, false
		}
		total += time.Duration(min(n, int64(maxTTL/units[next].length)+1)) * units[next].length
		text = text[digits+1:]
		next++
	}
	return total, true
}

// until says in words when a block ends. The zero time is never.
func until(ends time.Time) string {
	if ends.IsZero() {
		return "until it is unblocked"
	}
	return "until " + humanize.Moment(ends)
}
