// SPDX-License-Identifier: Apache-2.0

package updates

import "sentinel/internal/answer"

// Bounds of a document of default length, and of a brief one, in bytes of compact JSON. They leave a
// thousand characters, and five hundred, for the header.
const (
	budget      = 18_500
	briefBudget = 7_500
)

// maxSecurity is how many names of security updates an answer of default length
// holds: which of them wait is what it is read for. Other rows go first, down to leastRows.
const (
	maxSecurity = 200
	leastRows   = 10
)

// cut shortens every list to limit rows, 0 for all, and then further until the
// document is within most bytes. Fifty rows of an ordinary host fit; names and
// versions of the maximum length may not. Where security updates are listed with their versions, names
// are what is left of those beyond the rows.
func (r *Report) cut(limit, most int, names []string) {
	if limit <= 0 {
		return
	}
	rows, security := limit, limit
	if limit == DefaultLimit {
		security = maxSecurity
	}
	r.shorten(rows, security, names)
	for limit <= DefaultLimit && rows+security > 0 && answer.Size(r) > most {
		if rows = rows * 9 / 10; rows < leastRows {
			security = security * 9 / 10
		}
		r.shorten(rows, security, names)
	}
}

func (r *Report) shorten(rows, security int, names []string) {
	apart := min(rows, len(names))
	r.Truncated = r.Truncated || apart < len(names)
	r.SecurityUpdates = first(r, r.SecurityUpdates, security)
	if apart < len(r.SecurityUpdates) && names != nil {
		copy(r.SecurityUpdates[apart:], names[apart:])
	}
	r.Info.Updates = first(r, r.Info.Updates, rows-apart)
	r.Packages = first(r, r.Packages, rows)
	r.Withheld = first(r, r.Withheld, rows)
}

func first[T any](r *Report, list []T, rows int) []T {
	if len(list) <= rows {
		return list
	}
	r.Truncated = true
	return list[:rows]
}
