// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"slices"
	"strings"
	"unicode"
)

// rule reads "users hosts = (as whom) TAG: command, command : hosts = ...".
func (r *reader) rule(file string, number int, text string) {
	at := find(text, "=", true)
	if at < 0 {
		r.skip(ErrSyntax)
		return
	}
	g := Grant{Users: strings.Join(strings.Fields(text[:at]), " "), File: file, Line: number}
	if !strings.Contains(g.Users, " ") {
		r.skip(ErrSyntax) // users without hosts
		return
	}
	r.commands(g, text[at+1:])
}

// commands reads what a rule gives. The (as whom) and the tags before a command hold
// for the commands after it too, but not for other hosts.
func (r *reader) commands(g Grant, text string) {
	for len(r.policy.Grants) <= maxRules {
		var ok bool
		if text, ok = asWhom(&g, strings.TrimSpace(text)); !ok {
			r.skip(ErrSyntax)
			return
		}
		text = tags(&g, text)
		at := find(text, ",:", false)
		if at < 0 {
			r.grant(g, text)
			return
		}
		r.grant(g, text[:at])
		if text[at] == ',' {
			text = text[at+1:]
			continue
		}
		hosts := find(text[at+1:], "=", false)
		if hosts < 0 {
			r.skip(ErrSyntax)
			return
		}
		text = text[at+1+hosts+1:]
		g = Grant{Users: g.Users, File: g.File, Line: g.Line}
	}
}

// asWhom reads the "(users : groups)" that text may begin with, and returns the rest; false for
// one that does not end.
func asWhom(g *Grant, text string) (string, bool) {
	rest, opened := strings.CutPrefix(text, "(")
	if !opened {
		return text, true
	}
	as, after, closed := strings.Cut(rest, ")")
	if g.RunAs = strings.TrimSpace(as); g.RunAs == "" {
		g.RunAs = ":" // () runs as the same user
	}
	return after, closed
}

func (r *reader) grant(g Grant, text string) {
	text, negated := negations(text)
	switch {
	case !isCommand(text):
		r.skip(ErrSyntax)
	case negated:
	case len(r.policy.Grants) >= maxRules:
		r.skip(ErrTooMany)
	default:
		g.Command = text
		r.policy.Grants = append(r.policy.Grants, g)
	}
}

// isCommand says whether sudo takes text for a command: a path, a pattern of paths,
// what is built in, or an alias.
func isCommand(text string) bool {
	word, _ := cutWord(strings.TrimSpace(text))
	switch word {
	case "sudoedit", "list":
		return true
	default:
		return text == "ALL" || isAlias(text) || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "^")
	}
}

// tagNames are the tags of a command, each of which may have a "NO" before it.
var tagNames = []string{"PASSWD", "EXEC", "SETENV", "LOG_INPUT", "LOG_OUTPUT", "FOLLOW", "MAIL", "INTERCEPT"}

// tags reads what may be before a command, tags, options and digests, and returns the rest.
func tags(g *Grant, text string) string {
	for {
		text = strings.TrimSpace(text)
		end := strings.IndexFunc(text, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
		if end < 0 {
			return text
		}
		name, rest := text[:end], strings.TrimSpace(text[end:])
		switch tag := strings.TrimPrefix(name, "NO"); {
		case rest == "":
			return text
		case rest[0] == ':' && strings.HasPrefix(name, "sha"), rest[0] == '=' && isAlias(name):
			_, text = cutWord(strings.TrimSpace(rest[1:]))
		case rest[0] == ':' && slices.Contains(tagNames, tag):
			if tag == "PASSWD" {
				g.NoPassword = tag != name
			}
			text = rest[1:]
		default:
			return text
		}
	}
}
