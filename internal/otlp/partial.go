// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"encoding/json"
	"fmt"
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
	case p.Points > 0:
		text = fmt.Sprintf("it rejected data points (%d)", p.Points)
	case p.Records > 0:
		text = fmt.Sprintf("it rejected log records (%d)", p.Records)
	case message != "":
		text = "it took all, with a warning"
	}
	if message != "" {
		text += fmt.Sprintf(": %q", message)
	}
	return text
}

// A count is an int64, which JSON of Protocol Buffers has as a string or as a number.
type count int64

// UnmarshalJSON implements [json.Unmarshaler].
func (c *count) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	*c = count(n)
	return err
}
