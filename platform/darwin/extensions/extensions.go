// SPDX-License-Identifier: Apache-2.0

// Package extensions reads the lists of extensions that systemextensionsctl(8) and kmutil(8) print.
package extensions

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// maxListed bounds the lists.
const maxListed = 500

// ErrUnknownOutput means that the output of a program is not known.
var ErrUnknownOutput = errors.New("unknown output")

// An Extension is a system extension.
type Extension struct {
	Team, Bundle, State string
}

// System parses the output of systemextensionsctl list: a count, and
// for each kind of extension a heading and lines of six tab-separated columns.
func System(stdout []byte) ([]Extension, error) {
	var list []Extension
	total := -1
	for line := range strings.Lines(string(stdout)) {
		line = strings.TrimRight(line, "\r\n")
		if n, counted := strings.CutSuffix(line, " extension(s)"); counted && total < 0 {
			var err error
			if total, err = strconv.Atoi(n); err != nil {
				return nil, ErrUnknownOutput
			}
		}
		columns := strings.Split(line, "\t")
		if len(columns) < 6 || columns[0] == "enabled" {
			continue
		}
		bundle, _, _ := strings.Cut(columns[3], " (")
		e := Extension{columns[2], bundle, strings.Trim(columns[len(columns)-1], "[]")}
		if len(list) < maxListed && !slices.Contains(list, e) { // an extension of two kinds is listed twice
			list = append(list, e)
		}
	}
	if total < 0 || total > 0 && len(list) == 0 {
		return nil, ErrUnknownOutput
	}
	return list, nil
}

// Kernel returns the third-party extensions in the output of kmutil
// showloaded --list-only: index, references, address, size, wired, name.
func Kernel(stdout []byte) ([]string, error) {
	var others []string
	seen := false
	for line := range strings.Lines(string(stdout)) {
		columns := strings.Fields(line)
		if len(columns) < 6 || !strings.HasPrefix(columns[2], "0") {
			continue
		}
		if _, err := strconv.Atoi(columns[0]); err != nil {
			continue
		}
		seen = true
		if !strings.HasPrefix(columns[5], "com.apple.") && len(others) < maxListed {
			others = append(others, columns[5])
		}
	}
	if !seen {
		return nil, ErrUnknownOutput
	}
	slices.Sort(others)
	return slices.Compact(others), nil
}
