// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"encoding/json"
	"strings"

	"sentinel/internal/clients"

	"github.com/tailscale/hujson"
)

// A style is the layout of a configuration, for additions that look like the rest
// of it.
type style struct {
	newline string // "\n", "\r\n", or "" for all in one line
	unit    string // of indentation
	space   string // after a colon and between members of one line
}

// style takes the indentation of the first member for that of the file.
func (t text) style() style {
	s := style{newline: "\n", unit: "  ", space: " "}
	if strings.Contains(t.raw, "\r\n") {
		s.newline = "\r\n"
	}
	if len(t.root.Members) == 0 {
		return s
	}
	first := t.root.Members[0]
	extra := string(first.Name.BeforeExtra)
	if i := strings.LastIndexByte(extra, '\n'); i >= 0 {
		if indent := extra[i+1:]; indent != "" && strings.Trim(indent, " \t") == "" && len(indent) <= 16 {
			s.unit = indent
		}
		return s
	}
	if !strings.Contains(strings.Trim(t.raw, blank), "\n") {
		s.newline, s.unit = "", ""
		if len(first.Value.BeforeExtra) == 0 {
			s.space = ""
		}
	}
	return s
}

func (s style) pair(name, value string) string { return quote(name) + ":" + s.space + value }

// object renders members in an object that begins on a line with the given
// indentation.
func (s style) object(indent string, members []string) string {
	if s.newline == "" {
		return "{" + strings.Join(members, ","+s.space) + "}"
	}
	inner := s.newline + indent + s.unit
	return "{" + inner + strings.Join(members, ","+inner) + s.newline + indent + "}"
}

// entry renders the server for c on a line with the given indentation.
func (s style) entry(c clients.Client, e Entry, indent string) string {
	var members []string
	args := e.Args
	if args == nil {
		args = e.Initial
	}
	if c.Install.Type != "" {
		members = append(members, s.pair("type", quote(c.Install.Type)))
	}
	members = append(members, s.pair("command", quote(e.Command)), s.pair("args", list(args)))
	if c.Install.Tools {
		members = append(members, s.pair("tools", list([]string{"*"})))
	}
	return s.object(indent, members)
}

// indent is the indentation of an object's members: that of the last one, or one
// unit more than that of the line on which the object begins.
func (s style) indent(raw string, object *hujson.Object, at int) string {
	if n := len(object.Members); n > 0 {
		if indent, ok := ownLine(raw, object.Members[n-1].Name.StartOffset); ok {
			return indent
		}
	}
	line := raw[strings.LastIndexByte(raw[:at], '\n')+1 : at]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))] + s.unit
}

// ownLine returns the white space before raw[at:] if there is nothing else before
// it on its line.
func ownLine(raw string, at int) (string, bool) {
	i := strings.LastIndexByte(raw[:at], '\n')
	indent := raw[i+1 : at]
	return indent, i >= 0 && strings.Trim(indent, " \t") == ""
}

// add appends a member to the object that begins at raw[at].
func (s style) add(raw string, object *hujson.Object, at int, value, name string) []splice {
	member := s.pair(name, value)
	indent := s.indent(raw, object, at)
	if len(object.Members) == 0 {
		return s.addFirst(raw, object, at, indent, member)
	}
	last := object.Members[len(object.Members)-1]
	end := last.Value.EndOffset
	comma, trailing := end, ""
	if last.Value.AfterExtra != nil {
		end += len(last.Value.AfterExtra) + len(",")
		comma, trailing = -1, ","
	}
	tail := raw[end : end+len(object.AfterExtra)]
	if _, alone := ownLine(raw, last.Name.StartOffset); !alone || s.newline == "" {
		return s.addInLine(comma, end, tail, s.newline+indent, member, trailing)
	}
	end += sameLine(tail)
	all := []splice{{end, end, s.newline + indent + member + trailing}}
	if comma >= 0 {
		all = append([]splice{{comma, comma, ","}}, all...)
	}
	return all
}

// addInLine appends a member to one that shares its line with others.
func (s style) addInLine(comma, end int, tail, fresh, member, trailing string) []splice {
	put := s.space + member + trailing
	end += len(strings.TrimRight(tail, blank))
	if comma < 0 {
		return []splice{{end, end, afterLineComment(tail, fresh, put)}}
	}
	if strings.Trim(tail, blank) == "" {
		return []splice{{comma, comma, "," + put}}
	}
	return []splice{{comma, comma, ","}, {end, end, afterLineComment(tail, fresh, put)}}
}

// afterLineComment keeps text that is put after a line comment from becoming part of it.
func afterLineComment(tail, fresh, put string) string {
	if !strings.Contains(tail, "//") {
		return put
	}
	if fresh == "" {
		fresh = "\n"
	}
	return fresh + strings.TrimLeft(put, " ")
}

// sameLine returns how much of what follows a member belongs to it: comments on
// the rest of its line.
func sameLine(tail string) int {
	kept := 0
	for {
		at := kept + len(tail[kept:]) - len(strings.TrimLeft(tail[kept:], " \t"))
		line, _, _ := strings.Cut(tail[at:], "\n")
		switch {
		case strings.HasPrefix(line, "//"):
			return at + len(strings.TrimRight(line, "\r"))
		case strings.HasPrefix(line, "/*") && strings.Contains(line[2:], "*/"):
			kept = at + 2 + strings.Index(line[2:], "*/") + 2
		default:
			return kept
		}
	}
}

// fill adds the first member of an object.
func (s style) addFirst(raw string, object *hujson.Object, at int, indent, member string) []splice {
	from := at + len("{")
	to := from + len(object.AfterExtra)
	kept := strings.TrimRight(raw[from:to], blank)
	if s.newline == "" {
		if strings.Contains(kept, "//") {
			kept += "\n"
		}
		return []splice{{from, to, kept + member}}
	}
	outer := strings.TrimSuffix(indent, s.unit)
	return []splice{{from, to, kept + s.newline + indent + member + s.newline + outer}}
}

// quote renders a text as JSON does, without the escapes for HTML.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic("clients: a text cannot be encoded: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

func list(all []string) string {
	quoted := make([]string, len(all))
	for i, a := range all {
		quoted[i] = quote(a)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
