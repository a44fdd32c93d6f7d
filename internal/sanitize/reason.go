// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"slices"
	"strings"
)

// Reason returns a text in which a person or a model explained a change, as it is
// stored and shown: like [Text], with secrets replaced as in [Command]. Compiling
// the patterns of Command takes time, which texts that cannot hold a secret are
// spared.
func Reason(s string, limit int) string {
	if mayHoldSecret(s) {
		return Command([]string{s}, limit)
	}
	return Text(s, limit)
}

// shortestToken is a lower bound, in bytes, for the length of tokens that are
// recognized by their form.
const shortestToken = 16

// mayHoldSecret is a cheap test without false negatives for what Command redacts.
// Every secret comes with an assignment, a URL or a header, an option, or a certain
// word before it, or is long. "Failed password for root" holds none, "password
// hunter2" may.
func mayHoldSecret(s string) bool {
	if strings.ContainsAny(s, "=@:%") || hinted(s) {
		return true
	}
	before := ""
	for word := range strings.FieldsSeq(s) {
		bare := strings.Trim(word, `"'`)
		if len(word) >= shortestToken || strings.HasPrefix(bare, "-") && len(bare) > 1 {
			return true
		}
		if known, ok := programNamed(bare, before == ""); ok && (known.slash || known.words != nil) {
			return true
		}
		if strings.HasSuffix(before, "bearer") || strings.HasSuffix(before, "basic") || before == "by" || slices.Contains(plainWords, before) && strings.ContainsAny(word, `0123456789"'`) {
			return true
		}
		before = strings.ToLower(bare)
	}
	return false
}
