// SPDX-License-Identifier: Apache-2.0

package userdb

import (
	"slices"
	"strings"
)

// NameSources lists, in their order, the sources that nsswitch.conf(5) names for the databases, without the
// actions between them; the same one may be there twice.
func NameSources(raw []byte, databases ...string) (sources []string) {
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		database, rest, ok := strings.Cut(line, ":")
		if !ok || !slices.Contains(databases, strings.TrimSpace(database)) {
			continue
		}
		for word := range strings.FieldsSeq(rest) {
			if !strings.HasPrefix(word, "[") && !strings.HasPrefix(word, "!") && !strings.HasSuffix(word, "]") {
				sources = append(sources, word)
			}
		}
	}
	return sources
}

// Directories lists those of them that are no files of this machine.
func Directories(raw []byte, databases ...string) []string {
	return slices.DeleteFunc(NameSources(raw, databases...), func(source string) bool {
		return slices.Contains([]string{"files", "compat", "systemd", "db", "altfiles"}, source)
	})
}
