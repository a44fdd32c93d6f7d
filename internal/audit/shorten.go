// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// maxAnswer is the largest report, in bytes of JSON; the header of the document
// takes the rest of 20 KB.
const maxAnswer = 19_000

// maxBrief is that of a brief one, which leaves the header and whom the fixes are for their part of 8 KB.
const maxBrief = 7_500

// Bounds of texts that had to be cut, in runes.
const (
	shortValue, shortFix = 80, 160
	stubValue, stubFix   = 40, 80
)

// shortenings are the steps to shorten a result, the most dispensable text first.
var shortenings = []func(*Result){
	func(r *Result) { r.Description = "" },
	func(r *Result) { r.Evidence = firstOnly(r.Evidence) },
	func(r *Result) { r.Evidence = nil },
	func(r *Result) { r.Value, r.Fix = sanitize.Text(r.Value, shortValue), sanitize.Text(r.Fix, shortFix) },
	func(r *Result) {
		r.Reference, r.Value, r.Fix = "", sanitize.Text(r.Value, stubValue), sanitize.Text(r.Fix, stubFix)
	},
	func(r *Result) { r.Fix = "" },
}

// briefShortenings are those of a brief report. A fix is there whole or not at all: its reader hands it
// on as a command.
var briefShortenings = []func(*Result){shortenings[1], shortenings[2], shortenings[5]}

// shorten cuts texts, those of the least serious checks first, and finally drops
// checks from the end, until the report takes at most limit bytes.
func (r *Report) shorten(limit int, shortenings []func(*Result)) {
	size := answer.Size(r)
	if size > limit {
		size += len(`,"truncated":true`)
	}
	for _, cut := range shortenings {
		for i := len(r.Checks) - 1; i >= 0 && size > limit; i-- {
			before := answer.Size(r.Checks[i])
			cut(&r.Checks[i])
			size -= before - answer.Size(r.Checks[i])
			r.Truncated = true
		}
	}
	for ; size > limit && len(r.Checks) > 0; r.Truncated = true {
		last := len(r.Checks) - 1
		size -= answer.Size(r.Checks[last]) + 1
		r.Checks = r.Checks[:last]
	}
}

// firstOnly keeps one piece of evidence and says how many there were.
func firstOnly(evidence []string) []string {
	if len(evidence) < 2 {
		return evidence
	}
	left, counted := len(evidence)-1, 0
	if n, err := fmt.Sscanf(evidence[left], andMore, &counted); n == 1 && err == nil { // they are cut already
		left += counted - 1
	}
	return []string{evidence[0], more(left)}
}

const andMore = "and %d more"

func more(n int) string { return fmt.Sprintf(andMore, n) }
