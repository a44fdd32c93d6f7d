// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of one line. Deeper than any schema of a tool, and more names at a time in the objects
// that are open than any of them has; what exceeds them is made to exhaust a reader. Values cost
// nothing but their bytes, which are bounded.
const (
	maxDepth = 256
	maxNames = 1 << 19
)

// A Member is one name of an object and its value.
type Member struct {
	Name  string
	Value []byte // JSON as it came, without blanks around
}

// An Object is the members of an object, in order.
type Object []Member

// Get returns the value of a member as it came, nil when there is none.
func (o Object) Get(name string) []byte {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// has says that there is a member of a name, in any spelling that a reader may take for it.
func (o Object) has(name string) bool {
	return slices.ContainsFunc(o, func(m Member) bool { return fold(m.Name) == fold(name) })
}

// only returns the value of a member, nil when there are two of the name.
func (o Object) only(name string) (value []byte) {
	for _, m := range o {
		if fold(m.Name) != fold(name) {
			continue
		}
		if value != nil {
			return nil
		}
		value = m.Value
	}
	return value
}

// A place says where an object stands in a message, and so how strict its names are. Its members
// are kept.
type place struct {
	known *vocabulary // names with a meaning there; nil: names count as they are spelled
	kept  Object
	below []inner // objects in it that have a place too
}

// An inner is an object in another one that has a place.
type inner struct {
	name  string
	place *place
}

// A scanner reads JSON text (RFC 8259) once, from its beginning to its end,
// without copying values. What two readers may take for different messages is a doubt: the
// first is kept and the scan goes on, because the id that belongs into the answer may follow.
// What is no JSON ends it.
type scanner struct {
	in     []byte
	at     int
	folds  bool     // no two names of an object may differ by case alone, wherever it stands
	names  [][]byte // of the objects that are open, those of each after those of the one around it
	broken string   // why it is no JSON; "" while it is
	doubt  string   // what makes it ambiguous
}

func (s *scanner) fail(why string) bool {
	if s.broken == "" {
		s.broken = why
	}
	return false
}

func (s *scanner) suspect(why string) {
	if s.doubt == "" {
		s.doubt = why
	}
}

// next returns the next byte that is not blank, 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.in) && blank(s.in[s.at]) {
		s.at++
	}
	if s.at == len(s.in) {
		return 0
	}
	return s.in[s.at]
}

// ended says that nothing but blanks is left.
func (s *scanner) ended() bool {
	s.next()
	return s.at == len(s.in)
}

// value reads one value, which stands in p when that is not nil.
func (s *scanner) value(depth int, p *place) bool {
	switch c := s.next(); {
	case depth > maxDepth:
		return s.fail("it is nested too deeply")
	case c == '{':
		return s.object(depth, p)
	case c == '[':
		return s.array(depth)
	case c == '"':
		_, _, ok := s.text()
		return ok
	case c == '-' || digit(c):
		return s.number()
	default:
		return s.word()
	}
}

func (s *scanner) word() bool {
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.in[s.at:], []byte(word)) {
			s.at += len(word)
			return true
		}
	}
	if s.ended() {
		return s.fail("it ends too early")
	}
	return s.fail("it has something that is no value")
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.in) && digit(s.in[s.at]) {
		s.at++
	}
	return s.at > from
}

// skip goes past the next byte when that is one of set.
func (s *scanner) skip(set string) bool {
	if s.at < len(s.in) && strings.IndexByte(set, s.in[s.at]) >= 0 {
		s.at++
		return true
	}
	return false
}

func (s *scanner) number() bool {
	s.skip("-")
	ok := s.skip("0") && !s.digits() || s.digits()
	if ok && s.skip(".") {
		ok = s.digits()
	}
	if ok && s.skip("eE") {
		s.skip("+-")
		ok = s.digits()
	}
	if !ok {
		return s.fail("it has a number that is none")
	}
	return true
}

func (s *scanner) array(depth int) bool {
	return s.list(']', func() bool { return s.value(depth+1, nil) })
}

// list reads what stands between the byte here and end, its parts by part.
func (s *scanner) list(end byte, part func() bool) bool {
	s.at++
	if s.next() == end {
		s.at++
		return true
	}
	for part() {
		switch s.next() {
		case ',':
			s.at++
		case end:
			s.at++
			return true
		default:
			if s.ended() {
				return s.fail("it ends too early")
			}
			return s.fail("a comma is missing")
		}
	}
	return false
}

func (s *scanner) object(depth int, p *place) bool {
	names := names{place: p, from: len(s.names)}
	whole := s.list('}', func() bool {
		name, ok := s.name(&names)
		if !ok {
			return false
		}
		from := s.at
		ok = s.value(depth+1, p.inside(name))
		if p != nil {
			m := Member{Name: name}
			if ok && s.at < len(s.in) { // a number at the end of the beginning of a line may go on
				m.Value = s.in[from:s.at:s.at]
			}
			p.keep(m)
		}
		return ok
	})
	s.names = s.names[:names.from]
	return whole
}

// name reads a name of an object, and the colon after it. It returns the name where members are
// kept.
func (s *scanner) name(names *names) (string, bool) {
	if s.next() != '"' {
		return "", s.fail("a name is missing")
	}
	raw, escaped, ok := s.text()
	if !ok {
		return "", false
	}
	if escaped {
		raw = unescaped(raw)
	}
	name, why := s.add(names, raw)
	if why != "" {
		s.suspect(why)
	} else if len(s.names) > maxNames {
		return "", s.fail("it holds too many names")
	}
	if s.next() != ':' {
		return "", s.fail("a colon is missing")
	}
	s.at++
	s.next()
	return name, true
}

func (p *place) keep(m Member) {
	const usual = 4
	if p.kept == nil {
		p.kept = make(Object, 0, usual)
	}
	p.kept = append(p.kept, m)
}

func (p *place) inside(name string) *place {
	if p == nil {
		return nil
	}
	for _, i := range p.below {
		if i.name == name {
			return i.place
		}
	}
	return nil
}

// text reads a string and returns what stands between its quotes, as it came, and whether there
// are escapes in it.
func (s *scanner) text() (raw []byte, escaped, ok bool) {
	s.at++
	from := s.at
	for s.plain(); s.at < len(s.in); s.plain() {
		switch s.in[s.at] {
		case '"':
			raw = s.in[from:s.at]
			s.at++
			if !utf8.Valid(raw) {
				s.suspect("it is not UTF-8")
			}
			return raw, escaped, true
		case '\\':
			escaped = true
			if _, ok := s.escape(); !ok {
				return nil, true, false
			}
		default:
			return nil, escaped, s.fail("a text has a control character that is not escaped")
		}
	}
	return nil, escaped, s.fail("a text has no end")
}

// plain goes past what stands for itself in a string.
func (s *scanner) plain() {
	at := s.at // not in memory for each byte: texts are nearly all of a long message
	for at < len(s.in) && s.in[at] >= ' ' && s.in[at] != '"' && s.in[at] != '\\' {
		at++
	}
	s.at = at
}

// unescaped returns what the inside of a string that was read before says.
func unescaped(raw []byte) []byte {
	said := make([]byte, 0, len(raw))
	for s := (&scanner{in: raw}); s.at < len(raw); {
		if raw[s.at] != '\\' {
			said = append(said, raw[s.at])
			s.at++
			continue
		}
		r, ok := s.escape()
		if !ok {
			break
		}
		said = utf8.AppendRune(said, r)
	}
	return said
}

// escape reads one character that is written with a backslash.
func (s *scanner) escape() (rune, bool) {
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	s.at++
	if s.at == len(s.in) {
		return 0, s.fail("a text has no end")
	}
	c := s.in[s.at]
	if i := bytes.IndexByte([]byte(letters), c); i >= 0 {
		s.at++
		return rune(meanings[i]), true
	}
	unit, ok := s.unit()
	if c != 'u' || !ok {
		return 0, s.fail("a text has an escape that means nothing")
	}
	if !utf16.IsSurrogate(unit) {
		return unit, true
	}
	if bytes.HasPrefix(s.in[s.at:], []byte(`\u`)) {
		back := s.at
		s.at++
		if low, ok := s.unit(); ok {
			if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
				return r, true
			}
		}
		s.at = back
	}
	s.suspect("a text has half of a surrogate pair")
	return utf8.RuneError, true
}

// unit reads the letter u and four hexadecimal digits.
func (s *scanner) unit() (r rune, ok bool) {
	if len(s.in)-s.at < 5 {
		return 0, false
	}
	for _, c := range s.in[s.at+1 : s.at+5] {
		switch {
		case digit(c):
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	s.at += 5
	return r, true
}
