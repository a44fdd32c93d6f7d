// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strconv"
	"strings"
)

// A selector finds the values that a condition is about: a JSON Pointer (RFC 6901), or a dotted
// path, in which "*" stands for every member and "**" for any depth. "**" alone is every value and
// every name.
type selector struct {
	text     string
	segments []string
	pointer  bool
}

const maxSegments = 64

func parseSelector(text string) (selector, error) {
	s := selector{text: text}
	switch {
	case text == "":
		return s, errors.New("the argument has no name")
	case strings.HasPrefix(text, "/"):
		s.pointer = true
		for segment := range strings.SplitSeq(text[1:], "/") {
			if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(segment), "~") {
				return s, errors.New(`in a JSON Pointer "~" is written "~0" and "/" "~1"`)
			}
			s.segments = append(s.segments, strings.NewReplacer("~1", "/", "~0", "~").Replace(segment))
		}
	default:
		s.segments = strings.Split(text, ".")
		for i, segment := range s.segments {
			if segment == "" || segment == "**" && i > 0 && s.segments[i-1] == "**" {
				return s, errors.New("a part of the dotted path is empty")
			}
		}
	}
	if len(s.segments) > maxSegments {
		return s, errors.New("the path is too long")
	}
	return s, nil
}

// everything says that the selector is "**".
func (s selector) everything() bool { return !s.pointer && s.text == "**" }

// anywhere says that the path looks at any depth.
func (s selector) anywhere() bool {
	return !s.pointer && strings.Contains(s.text, "**")
}

// below calls see with each value in v that is at segments. Names that differ by case alone are
// found as well, and are not exact: some servers take one for the other (encoding/json does).
func (s selector) below(v *value, segments []string, exact bool, see func(v *value, exact bool)) {
	if len(segments) == 0 {
		see(v, exact)
		return
	}
	name, rest := segments[0], segments[1:]
	deep := name == "**" && !s.pointer
	if deep {
		s.below(v, rest, exact, see)
	}
	each := deep || name == "*" && !s.pointer
	next := rest
	if deep {
		next = segments
	}
	for i := range v.members {
		m := &v.members[i]
		if same := each || m.name == name; same || strings.EqualFold(m.name, name) {
			s.below(&m.value, next, exact && same, see)
		}
	}
	index := -1
	if n, err := strconv.Atoi(name); err == nil && strconv.Itoa(n) == name {
		index = n
	}
	for i := range v.items {
		if each || i == index {
			s.below(&v.items[i], next, exact, see)
		}
	}
}

// walk calls see with every scalar in v and with every name, as a string.
func walk(v *value, see func(*value)) {
	switch v.kind {
	case isObject:
		for i := range v.members {
			see(&value{kind: isName, text: v.members[i].name})
			walk(&v.members[i].value, see)
		}
	case isArray:
		for i := range v.items {
			walk(&v.items[i], see)
		}
	default:
		see(v)
	}
}
