// SPDX-License-Identifier: Apache-2.0

// Package progress defines how sentinel reports progress to the program that
// started it: lines on standard error of one strict form, "progress 42", in
// percent.
package progress

import "strconv"

const prefix = "progress "

// Line returns the line for percent, with its newline.
func Line(percent int) string { return prefix + strconv.Itoa(percent) + "\n" }

// Parse parses a line without its newline. ok is false unless the line is exactly
// what [Line] returns for a number from 0 to 100: standard error may hold any other
// text.
func Parse(line string) (percent int, ok bool) {
	if len(line) <= len(prefix) || line[:len(prefix)] != prefix {
		return 0, false
	}
	digits := line[len(prefix):]
	percent, err := strconv.Atoi(digits)
	if err != nil || percent < 0 || percent > 100 || strconv.Itoa(percent) != digits {
		return 0, false
	}
	return percent, true
}
