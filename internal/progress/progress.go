// SPDX-License-Identifier: Apache-2.0

// Package progress defines how sentinel reports progress to whoever waits for
// it: what works says how far it is through its context, and the program that started sentinel reads
// it as lines on standard error of one strict form, "progress 42 checking 12 of 41", in percent.
package progress

import (
	"context"
	"strconv"
	"strings"

	"sentinel/internal/sanitize"
)

const prefix = "progress "

// maxWords is the longest text of a line, in runes.
const maxWords = 120

// Line returns the line for percent, with its newline. words say what is being
// done, and may be "".
func Line(percent int, words string) string {
	return strings.TrimRight(prefix+strconv.Itoa(percent)+" "+sanitize.Text(words, maxWords), " ") + "\n"
}

// Parse parses a line without its newline. ok is false unless the line is exactly
// what [Line] returns for a number from 0 to 100: standard error may hold any other
// text.
func Parse(line string) (percent int, words string, ok bool) {
	rest, found := strings.CutPrefix(line, prefix)
	digits, words, _ := strings.Cut(rest, " ")
	percent, err := strconv.Atoi(digits)
	if !found || err != nil || percent < 0 || percent > 100 || Line(percent, words) != line+"\n" {
		return 0, "", false
	}
	return percent, words, true
}

// reportKey is the key under which a context holds the function that reports.
type reportKey struct{}

// With returns a context whose work is reported to report, which is called from
// any goroutine.
func With(ctx context.Context, report func(percent int, words string)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

// Say reports how far the work of ctx is and what is done next, to whoever
// waits for it; nobody may.
func Say(ctx context.Context, percent int, words string) {
	if report, ok := ctx.Value(reportKey{}).(func(int, string)); ok {
		report(percent, words)
	}
}

// Without removes the lines about progress from what a program wrote to standard
// error: they do not say why it ended.
func Without(stderr string) string {
	var rest strings.Builder
	for line := range strings.Lines(stderr) {
		if _, _, ok := Parse(strings.TrimSuffix(line, "\n")); !ok {
			rest.WriteString(line)
		}
	}
	return rest.String()
}
