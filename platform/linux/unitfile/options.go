// SPDX-License-Identifier: Apache-2.0

package unitfile

import "strings"

// Options returns the values of an option of one letter, "-H x" or "-Hx", and of its long name, "" for none, "--host
// x" or "--host=x". flags are letters without a value, which may stand before it in its word, "-DH x".
func Options(arguments []string, flags, short, long string) []string {
	var values []string
	for i, word := range arguments {
		value, is := optionIn(word, flags, short, long)
		switch {
		case is && value == "" && !strings.HasSuffix(word, "=") && i+1 < len(arguments):
			values = append(values, arguments[i+1])
		case is && value != "":
			values = append(values, value)
		}
	}
	return values
}

// optionIn says whether a word has an option, and the value that stands in the same word.
func optionIn(word, flags, short, long string) (value string, is bool) {
	if name, isLong := strings.CutPrefix(word, "--"); isLong {
		name, value, _ = strings.Cut(name, "=")
		return value, long != "" && name == long
	}
	letters, isShort := strings.CutPrefix(word, "-")
	before, value, is := strings.Cut(letters, short)
	return strings.TrimPrefix(value, "="), isShort && short != "" && is && strings.Trim(before, flags) == ""
}
