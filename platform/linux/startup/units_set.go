// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A unitSet is the units of one manager.
type unitSet struct {
	files   map[string]string // by name; the first directory counts
	masked  map[string]bool
	aliases map[string]string // what a name is a link to
	enabled map[string]bool
	own     map[string]bool // not in the directory of a vendor
	dropIns map[string][]string
	dirs    map[string]bool // those of units, without links
	linked  map[string]bool // by name: the file is elsewhere than in those
	absent  map[string]bool // have no file here, and another unit would have them started
	// specifiers are those of the manager.
	specifiers *strings.Replacer
}

func newUnitSet(specifiers *strings.Replacer) *unitSet {
	return &unitSet{specifiers: specifiers, files: map[string]string{}, masked: map[string]bool{}, aliases: map[string]string{}, enabled: map[string]bool{}, own: map[string]bool{}, dropIns: map[string][]string{}, dirs: map[string]bool{}, linked: map[string]bool{}, absent: map[string]bool{}}
}

// namesOf are the names of the files of a unit: its own and, of an instance, that of its template.
func namesOf(unit string) []string {
	if before, _, ok := strings.Cut(unit, "@"); ok {
		return []string{unit, before + "@" + path.Ext(unit)}
	}
	return []string{unit}
}

// canonical is the name of the unit that a name, or that of the template of an instance, is an alias of.
func (u *unitSet) canonical(name string) string {
	for range maxLinks {
		to := u.aliasOf(name)
		if to == "" {
			break
		}
		_, instance, _ := strings.Cut(strings.TrimSuffix(name, path.Ext(name)), "@")
		name = strings.Replace(to, "@.", "@"+instance+".", 1)
	}
	return name
}

// aliasOf is what a link of that name, or of its template, leads to; "" if there is a unit, or nothing.
func (u *unitSet) aliasOf(name string) string {
	for _, n := range namesOf(name) {
		if u.files[n] != "" || u.masked[n] || u.aliases[n] != "" {
			return u.aliases[n]
		}
	}
	return ""
}

// start marks units as enabled, by their canonical names, with those that were before.
func (u *unitSet) start(lists ...[]string) {
	for _, name := range slices.Concat(append(lists, slices.Collect(maps.Keys(u.enabled)))...) {
		u.enabled[u.canonical(name)] = true
	}
}

// find returns the file of a unit, of its template if it is an instance.
func (u *unitSet) find(name string) (file string, names []string) {
	names = namesOf(u.canonical(name))
	for _, n := range names {
		if u.files[n] != "" {
			return u.files[n], names
		}
	}
	return "", names
}
