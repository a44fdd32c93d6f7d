// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sentinel/internal/clients"

	"github.com/tailscale/hujson"
)

// maxDepth is how deep a configuration may be nested. The parser calls itself
// for every level.
const maxDepth = 500

// bom is the byte order mark that some Windows editors put before UTF-8.
const bom = "\ufeff"

// A text is a parsed configuration. raw is what is edited; root only says where
// things are in it.
type text struct {
	raw  string // without mark
	mark string // bom or ""
	root *hujson.Object
	at   int // where root begins in raw
}

// parse reads a configuration as a client with the given syntax does. An empty
// file is an object without members, as every client takes it.
func parse(raw []byte, syntax clients.Syntax) (text, error) {
	t := text{raw: string(raw)}
	if rest, ok := strings.CutPrefix(t.raw, bom); ok {
		t.mark, t.raw = bom, rest
	}
	if strings.TrimSpace(t.raw) == "" {
		t.raw = "{}\n"
	}
	if err := checkReadable(t.raw); err != nil {
		return text{}, err
	}
	// hujson wants a newline after the last comment; clients do not.
	value, err := hujson.Parse([]byte(t.raw + "\n"))
	if err != nil {
		if _, bare := hujson.Parse([]byte(t.raw)); bare != nil {
			err = bare // says where the text ends, not where ours does
		}
		return text{}, invalid(positionOf(err))
	}
	if line := beyondSyntax(value, t.raw, syntax); line != "" {
		return text{}, invalid(line)
	}
	root, ok := value.Value.(*hujson.Object)
	if !ok {
		return text{}, invalid("it is not one JSON object in braces")
	}
	t.root, t.at = root, value.StartOffset
	return t, nil
}

// checkReadable refuses what must not reach the parser.
func checkReadable(raw string) error {
	if !utf8.ValidString(raw) {
		n := 0
		for r, size := utf8.DecodeRuneInString(raw); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRuneInString(raw[n:]) {
			n += size
		}
		return invalid(fmt.Sprintf("line %d is not in UTF-8", lineOf(raw, n)))
	}
	if at := tooDeep(raw); at >= 0 {
		return invalid(fmt.Sprintf("line %d is nested deeper than %d levels", lineOf(raw, at), maxDepth))
	}
	return nil
}

// tooDeep returns where a text is nested deeper than maxDepth, or -1. The brackets in strings and
// comments do not count: clients keep what people typed.
func tooDeep(raw string) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"', '/':
			i += closed(raw[i:]) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// closed is the length of the string or the comment with which rest begins.
func closed(rest string) int {
	end := ""
	switch {
	case strings.HasPrefix(rest, "//"):
		end = "\n"
	case strings.HasPrefix(rest, "/*"):
		end = "*/"
	case rest[0] == '"':
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(rest)
	default:
		return 1
	}
	if at := strings.Index(rest[2:], end); at >= 0 {
		return 2 + at + len(end)
	}
	return len(rest)
}

// positionOf words an error of the parser, whose text begins "hujson: line 3,
// column 5: ". What that quotes from the file is left out, because it may be a secret.
func positionOf(err error) string {
	at, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	if strings.HasPrefix(what, "invalid literal") {
		what = "this is not a JSON value"
	}
	return at + ": " + what
}

// beyondSyntax says where a value uses more than the syntax allows, or "". A
// client that does not allow comments ignores a file with one.
func beyondSyntax(value hujson.Value, raw string, syntax clients.Syntax) string {
	if syntax == clients.Lenient || value.IsStandard() {
		return ""
	}
	for v := range value.All() {
		if at := comment(v); at >= 0 && syntax == clients.Strict {
			return fmt.Sprintf("line %d has a comment, which this client does not read", lineOf(raw, at))
		}
		if at, ok := trailingComma(v); ok {
			return fmt.Sprintf("line %d has a comma after the last member, which this client does not read", lineOf(raw, at))
		}
	}
	return ""
}

// comment returns the position of the first comment around or at the end of v, or -1.
func comment(v *hujson.Value) int {
	if !v.BeforeExtra.IsStandard() {
		return v.StartOffset - len(v.BeforeExtra) + bytes.IndexByte(v.BeforeExtra, '/')
	}
	if !v.AfterExtra.IsStandard() {
		return v.EndOffset + bytes.IndexByte(v.AfterExtra, '/')
	}
	var end hujson.Extra
	switch c := v.Value.(type) {
	case *hujson.Object:
		end = c.AfterExtra
	case *hujson.Array:
		end = c.AfterExtra
	}
	if end.IsStandard() {
		return -1
	}
	return v.EndOffset - len("}") - len(end) + bytes.IndexByte(end, '/')
}

// trailingComma returns the position of one in v. hujson marks it by a non-nil
// extra after the last value.
func trailingComma(v *hujson.Value) (int, bool) {
	var last *hujson.Value
	switch c := v.Value.(type) {
	case *hujson.Object:
		if n := len(c.Members); n > 0 {
			last = &c.Members[n-1].Value
		}
	case *hujson.Array:
		if n := len(c.Elements); n > 0 {
			last = &c.Elements[n-1]
		}
	}
	if last == nil || last.AfterExtra == nil {
		return 0, false
	}
	return last.EndOffset + len(last.AfterExtra), true
}

func lineOf(raw string, at int) int { return 1 + strings.Count(raw[:min(at, len(raw))], "\n") }

// A flaw is why a configuration is not edited: a clause that does not name the
// file, and what to do unless that is to correct the text.
type flaw struct{ what, fix string }

func (f flaw) Error() string { return f.what }

func invalid(what string) error { return flaw{what: what} }

// member returns the only member of object with the given name, or nil. Two are
// refused, because parsers differ in which they take.
func (t text) member(object *hujson.Object, name string) (*hujson.ObjectMember, error) {
	var found *hujson.ObjectMember
	for i := range object.Members {
		m := &object.Members[i]
		if literal, ok := m.Name.Value.(hujson.Literal); !ok || literal.String() != name {
			continue
		}
		if found != nil {
			return nil, invalid(fmt.Sprintf("line %d has %q a second time", lineOf(t.raw, m.Name.StartOffset), name))
		}
		found = m
	}
	return found, nil
}

// servers returns the member of t that holds the servers, or nil.
func (t text) servers(name string) (*hujson.ObjectMember, *hujson.Object, error) {
	m, err := t.member(t.root, name)
	if m == nil || err != nil {
		return nil, nil, err
	}
	o, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return nil, nil, invalid(fmt.Sprintf("line %d: %q is no object in braces", lineOf(t.raw, m.Value.StartOffset), name))
	}
	return m, o, nil
}

// rest lists everything in a configuration except that one server, without
// comments and white space: what no edit may change.
func (t text) rest(servers, name string) []string {
	var all []string
	add := func(path string, m hujson.ObjectMember) {
		value := m.Value.Clone()
		value.Minimize()
		all = append(all, path+" "+m.Name.Value.(hujson.Literal).String()+" "+value.String())
	}
	for _, m := range t.root.Members {
		inner, ok := m.Value.Value.(*hujson.Object)
		if m.Name.Value.(hujson.Literal).String() != servers || !ok {
			add("", m)
			continue
		}
		for _, s := range inner.Members {
			if s.Name.Value.(hujson.Literal).String() != name {
				add(servers, s)
			}
		}
	}
	slices.Sort(all)
	return all
}
