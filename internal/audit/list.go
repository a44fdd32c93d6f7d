// SPDX-License-Identifier: Apache-2.0

package audit

import "slices"

// A List is what a check goes through, of which there may be more than was read. Whoever fills
// such a list beyond its bound must not hide what is in the rest: the list is judged by
// [List.Judge] alone, and no check passes over one that is not whole.
type List[T any] struct {
	seen []T
	rest string
}

// ListOf is a list of which seen was read; rest says why there may be more, "" if this is all.
func ListOf[T any](seen []T, rest string) List[T] { return List[T]{seen, rest} }

// Find returns the entries that f picks, of a list that is as whole as this one.
func (l List[T]) Find(f func(T) bool) List[T] {
	found := List[T]{rest: l.rest}
	for _, one := range l.seen {
		if f(one) {
			found.seen = append(found.seen, one)
		}
	}
	return found
}

// And is this list with other behind it. The rest of other is named with from before it.
func (l List[T]) And(other List[T], from string) List[T] {
	all := List[T]{slices.Concat(l.seen, other.seen), l.rest}
	if l.rest == "" && other.rest != "" {
		all.rest = from + other.rest
	}
	return all
}

// Judge is the finding of judge over what was read. Where there may be more, that nothing is wrong
// or that there is nothing is no finding, and any other says that not all was read.
func (l List[T]) Judge(judge func(seen []T) Finding) Finding {
	f := judge(l.seen)
	switch {
	case l.rest == "":
		return f
	case f.Status == Pass, f.Status == "" && !f.Applies:
		return Unseen(l.rest)
	case f.Status != "":
		f.Value += "; not all was read: " + l.rest
	}
	return f
}
