// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"embed"
	"strings"
)

//go:embed presets/*.yaml
var presets embed.FS

// Presets returns the names of the files of rules that come with the guard.
func Presets() (names []string) {
	entries, err := presets.ReadDir("presets")
	if err != nil { // it is part of the program
		panic(err)
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Preset returns the text of a file that comes with the guard.
func Preset(name string) (string, bool) {
	raw, err := presets.ReadFile("presets/" + name + ".yaml")
	return string(raw), err == nil
}
