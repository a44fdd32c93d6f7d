// SPDX-License-Identifier: Apache-2.0

package updates

import "encoding/json"

// budget bounds a document of default length, in bytes of compact JSON. It leaves a
// thousand characters for the header.
const budget = 18_500

// maxSecurity is how many names of security updates an answer of default length
// holds: which of them wait is what it is read for.
const maxSecurity = 200

// cut shortens every list to limit rows, 0 for all, and then further until the
// document is within its budget. Fifty rows of an ordinary host fit; names and
// versions of the maximum length may not.
func (r *Report) cut(limit int) {
	if limit <= 0 {
		return
	}
	security := limit
	if limit == DefaultLimit {
		security = maxSecurity
	}
	r.shorten(limit, security)
	for limit > 0 && limit <= DefaultLimit && r.size() > budget {
		limit, security = limit*9/10, security*9/10
		r.shorten(limit, security)
	}
}

func (r *Report) shorten(rows, security int) {
	r.Info.Updates = first(r, r.Info.Updates, rows)
	r.SecurityUpdates = first(r, r.SecurityUpdates, security)
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

func (r *Report) size() int {
	b, err := json.Marshal(r)
	if err != nil {
		return 0 // the types here always encode
	}
	return len(b)
}
