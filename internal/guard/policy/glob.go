// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// A toolGlob is a pattern SERVER:TOOL, a bare TOOL for that of any server. "*" stands for any
// text, "?" for one character, "[a-z]" and "[!a-z]" for one of a set (fnmatch(3), without
// backslashes); upper and lower case differ.
type toolGlob struct {
	text         string
	server, tool glob
}

const maxGlob = 1 << 10

// parseToolGlob cuts the pattern at its first colon outside brackets.
func parseToolGlob(text string) (toolGlob, error) {
	server, tool := "*", text
	if at := colon(text); at >= 0 {
		server, tool = text[:at], text[at+1:]
	}
	s, err := parseGlob(server)
	if err != nil {
		return toolGlob{}, err
	}
	t, err := parseGlob(tool)
	return toolGlob{text, s, t}, err
}

func colon(text string) int {
	inside := false
	for i, c := range text {
		switch {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == ':' && !inside:
			return i
		}
	}
	return -1
}

func (g toolGlob) matches(server, tool string) bool {
	return g.tool.matches(tool) && g.server.matches(server)
}

// overlaps says whether some tool may match both.
func (g toolGlob) overlaps(other toolGlob) bool {
	return overlap(g.server, other.server) && overlap(g.tool, other.tool)
}

// A glob is a list of elements, each for one character but for the star.
type glob []element

type element struct {
	kind    byte // '=', '*', '?' or '['
	char    rune
	not     bool
	members string // of a set: pairs of the first and the last of a range
}

func parseGlob(text string) (glob, error) {
	var g glob
	switch {
	case text == "":
		return nil, errors.New(`a part of the pattern is empty; "*" stands for any`)
	case len(text) > maxGlob || !utf8.ValidString(text):
		return nil, errors.New("the pattern is too long, or no text")
	}
	for text != "" {
		c, size := utf8.DecodeRuneInString(text)
		switch c {
		case '*':
			if n := len(g); n == 0 || g[n-1].kind != '*' {
				g = append(g, element{kind: '*'})
			}
		case '?':
			g = append(g, element{kind: '?'})
		case '[':
			set, rest, err := parseSet(text[1:])
			if err != nil {
				return nil, err
			}
			g, text, size = append(g, set), rest, 0
		default:
			g = append(g, element{kind: '=', char: c})
		}
		text = text[size:]
	}
	return g, nil
}

// parseSet reads a set behind its bracket. A bracket that comes first in it is a member.
func parseSet(text string) (element, string, error) {
	set := element{kind: '['}
	if rest, ok := strings.CutPrefix(text, "!"); ok {
		set.not, text = true, rest
	}
	var runes []rune
	for i, c := range text {
		if c == ']' && i > 0 {
			members, err := ranges(runes)
			set.members = members
			return set, text[i+1:], err
		}
		runes = append(runes, c)
	}
	return element{}, "", errors.New(`a "[" in the pattern has no "]"`)
}

func ranges(runes []rune) (string, error) {
	var b strings.Builder
	for i := 0; i < len(runes); i++ {
		first, last := runes[i], runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			last = runes[i+2]
			i += 2
		}
		if last < first {
			return "", errors.New("a range in the pattern runs backwards")
		}
		b.WriteRune(first)
		b.WriteRune(last)
	}
	return b.String(), nil
}

func (e element) takes(c rune) bool {
	switch e.kind {
	case '=':
		return c == e.char
	case '?':
		return true
	}
	in := false
	for rest := e.members; rest != "" && !in; {
		first, n := utf8.DecodeRuneInString(rest)
		last, m := utf8.DecodeRuneInString(rest[n:])
		in = first <= c && c <= last
		rest = rest[n+m:]
	}
	return in != e.not
}

// matches goes back to the last star alone, so its work is at most the product of the lengths.
func (g glob) matches(text string) bool {
	at, star, resume := 0, -1, ""
	for text != "" {
		c, size := utf8.DecodeRuneInString(text)
		switch {
		case at < len(g) && g[at].kind == '*':
			star, resume = at, text
			at++
		case at < len(g) && g[at].takes(c):
			at++
			text = text[size:]
		case star >= 0:
			_, size := utf8.DecodeRuneInString(resume)
			resume = resume[size:]
			at, text = star+1, resume
		default:
			return false
		}
	}
	for at < len(g) && g[at].kind == '*' {
		at++
	}
	return at == len(g)
}

// overlap says whether some text may match both; of two sets, or a set and a character, it says
// yes unless it can tell.
func overlap(a, b glob) bool {
	reach := make([]bool, len(b)+1)
	reach[0] = true
	for j := 0; j < len(b) && b[j].kind == '*'; j++ {
		reach[j+1] = true
	}
	for _, x := range a {
		next := make([]bool, len(b)+1)
		next[0] = reach[0] && x.kind == '*'
		for j, y := range b {
			switch {
			case x.kind == '*' || y.kind == '*':
				next[j+1] = x.kind == '*' && (reach[j+1] || next[j]) || y.kind == '*' && (next[j] || reach[j+1])
			default:
				next[j+1] = reach[j] && x.meets(y)
			}
		}
		reach = next
	}
	return reach[len(b)]
}

func (e element) meets(other element) bool {
	switch {
	case other.kind == '=':
		return e.takes(other.char)
	case e.kind == '=':
		return other.takes(e.char)
	default:
		return true
	}
}
