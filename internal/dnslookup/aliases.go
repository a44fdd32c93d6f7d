// SPDX-License-Identifier: Apache-2.0

package dnslookup

import "strings"

// maxAliases bounds how many aliases are followed within one answer.
const maxAliases = 16

// followAliases returns the records that answer a question: those of the name, or
// of the name that its aliases lead to. Other records that a server put into its
// answer are left out. why explains the problem when the aliases lead nowhere.
func followAliases(records []Record, q Question) (list []Record, why string) {
	at := canonical(q.Name)
	seen := map[string]bool{}
	for range maxAliases {
		seen[at] = true
		direct, next := recordsAt(records, at, q.Type)
		list = append(list, direct...)
		if next == nil || len(direct) > 0 {
			return list, ""
		}
		list = append(list, *next)
		if at = canonical(next.Value); seen[at] {
			return list, "the aliases lead in a circle"
		}
	}
	return list, "there are too many aliases"
}

// recordsAt returns the records of a type at a name, or the alias that replaces
// them.
func recordsAt(records []Record, name, kind string) (direct []Record, alias *Record) {
	for i, r := range records {
		switch {
		case canonical(r.Name) != name:
		case r.Type == kind:
			direct = append(direct, r)
		case r.Type == "CNAME" && alias == nil:
			alias = &records[i]
		}
	}
	return direct, alias
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
