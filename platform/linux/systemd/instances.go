// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"strings"
)

// maxApart is how many instances of one template stand for themselves.
const maxApart = 3

// Fold puts the names of units into rows, in order: units that are no instances of a template first, then instances,
// those of a template of which there are more than three in one row. Whoever can connect to a socket with Accept=yes
// makes as many instances as they like, and would hide other units with them.
func Fold(names []string) [][]string {
	var rows [][]string
	instances := map[string][]string{}
	for _, name := range names {
		if t := template(name); t != "" {
			instances[t] = append(instances[t], name)
		} else {
			rows = append(rows, []string{name})
		}
	}
	for _, name := range names {
		of := instances[template(name)]
		switch {
		case len(of) > maxApart && of[0] == name:
			rows = append(rows, of)
		case len(of) > 0 && len(of) <= maxApart:
			rows = append(rows, []string{name})
		}
	}
	return rows
}

// template names what a unit is an instance of (systemd.unit(5)); "" for none.
func template(name string) string {
	at, dot := strings.IndexByte(name, '@'), strings.LastIndexByte(name, '.')
	if at < 1 || dot < at {
		return ""
	}
	return name[:at+1] + name[dot:]
}
