// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"slices"
	"strings"
)

// Reason returns what a person or a model wrote about a change as it is kept and
// shown: like [Text], with secrets replaced as in [Command]. The search for them costs its own
// start-up, which a text that can hold none does not pay.
func Reason(s string, limit int) string {
	if mayHoldSecret(s) {
		return Command([]string{s}, limit)
	}
	return Text(s, limit)
}

// shortestToken is less than a token has that its form alone gives away, in
// bytes.
const shortestToken = 16

// mayHoldSecret looks for what every secret that Command finds stands beside:
// an assignment, a URL or a header, an option, a word before it, or its own length. "Failed
// password for root" holds none, "password hunter2" may.
func mayHoldSecret(s string) bool {
	if strings.ContainsAny(s, "=@:") {
		return true
	}
	before := ""
	for word := range strings.FieldsSeq(s) {
		bare := strings.Trim(word, `"'`)
		if len(word) >= shortestToken || strings.HasPrefix(bare, "-") && len(bare) > 1 {
			return true
		}
		if before == "bearer" || before == "by" || slices.Contains(plainWords, before) && strings.ContainsAny(word, `0123456789"'`) {
			return true
		}
		before = strings.ToLower(bare)
	}
	return false
}
