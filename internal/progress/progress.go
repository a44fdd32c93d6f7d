// SPDX-License-Identifier: Apache-2.0

// Package progress is how sentinel reports progress to the program that started
// it: lines on standard error of one strict form, "progress 42", in percent.
package progress

import "strconv"

const prefix = "progress "

// Line returns the line for percent, with its newline.
func Line(percent int) string { return prefix + strconv.Itoa(percent) + "\n" }

// Parse reads a line without its newline. ok is false unless it is exactly what
// [Line] returns for a number from 0 to 100: other text on standard error may come from anywhere.
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
