// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"sentinel/internal/sanitize"
)

// maxMessage bounds what a Collector says, in characters.
const maxMessage = 200

// Partial says what a Collector did not take of a body that it accepted, or warns of; "" is nothing.
// raw is its answer, of which anything that is no such answer is ignored.
func Partial(raw []byte) string {
	var answer struct {
		Partial struct {
			Points  count  `json:"rejectedDataPoints"`
			Records count  `json:"rejectedLogRecords"`
			Message string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return ""
	}
	p, text := answer.Partial, ""
	message := sanitize.Reason(p.Message, maxMessage)
	switch {
	case p.Points != "":
		text = fmt.Sprintf("it rejected data points (%s)", p.Points)
	case p.Records != "":
		text = fmt.Sprintf("it rejected log records (%s)", p.Records)
	case message != "":
		text = "it took all, with a warning"
	}
	if message != "" {
		text += fmt.Sprintf(": %q", message)
	}
	return text
}

// A count is how many of something were rejected; "" is none.
type count string

// UnmarshalJSON implements [json.Unmarshaler]. JSON of Protocol Buffers has an int64 as a string or as a
// number, which may have an exponent, and null for 0. What is no number of things is not taken for none: it is
// told as it is.
func (c *count) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	n, err := strconv.ParseFloat(text, 64)
	switch whole := n == math.Trunc(n) && math.Abs(n) < 1<<53; {
	case text == "null" || text == "" || err == nil && n == 0:
		*c = ""
	case err == nil && whole && n > 0:
		*c = count(strconv.FormatInt(int64(n), 10))
	default:
		*c = count("by its answer " + sanitize.Reason(text, maxCount))
	}
	return nil
}

// maxCount bounds what is shown of a count that is none, in characters: an int64 has at most twenty.
const maxCount = 24
