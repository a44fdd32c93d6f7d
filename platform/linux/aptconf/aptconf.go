// SPDX-License-Identifier: Apache-2.0

// Package aptconf reads the configuration of apt (apt.conf(5)): the value that
// each option has in the end. Directives (#include, #clear) are not followed.
package aptconf

import (
	"errors"
	"slices"
	"strings"
)

// Bounds of a file.
const (
	maxDepth   = 32
	maxOptions = 20_000
)

// ErrFormat says that a file does not have the form of apt.conf.
var ErrFormat = errors.New("does not have the form of apt.conf")

// Options maps the lower-case name of each option, "apt::periodic::enable", to its
// value. Lists, whose items have no names, are left out.
type Options map[string]string

// On says whether an option has a value that apt takes for yes, such as a number
// other than 0.
func (o Options) On(name string) bool {
	switch v := strings.ToLower(o[strings.ToLower(name)]); v {
	case "", "0", "no", "false", "without", "off", "disable":
		return false
	default:
		return true
	}
}

// Add reads one more file. Of several values of an option, the last one counts.
func (o Options) Add(raw []byte) error {
	return Each(raw, func(name, value string) error {
		if strings.HasSuffix(name, "::") { // an item of a list
			return nil
		}
		if len(o) == maxOptions {
			return ErrFormat
		}
		o[strings.ToLower(name)] = value
		return nil
	})
}

// Each calls use for each option of a file, in its order, with its name as it is written,
// "APT::Periodic::Enable"; the name of an item of a list ends in "::". It ends with the first error of
// use, and with what does not have the form of apt.conf.
func Each(raw []byte, use func(name, value string) error) error {
	t := tokens{rest: string(raw)}
	var scope []string
	for {
		words, end := t.statement()
		switch {
		case end == 0 && len(words) == 0 && len(scope) == 0:
			return nil
		case end == 0:
			return ErrFormat
		case end == '{' && len(words) > 0 && len(scope) < maxDepth:
			scope = append(scope, words[0])
			continue
		case end == '{':
			return ErrFormat
		}
		var err error
		switch {
		case len(words) == 2:
			err = use(strings.Join(append(slices.Clip(scope), words[0]), "::"), words[1])
		case len(words) == 1 && len(scope) > 0:
			err = use(strings.Join(scope, "::")+"::", words[0])
		}
		if err != nil {
			return err
		}
		if end == '}' {
			if len(scope) == 0 {
				return ErrFormat
			}
			scope = scope[:len(scope)-1]
		}
	}
}

// tokens splits a text.
type tokens struct{ rest string }

// statement returns the words up to the next ';', '{' or '}', and which of them
// it was; 0 at the end of the text.
func (t *tokens) statement() (words []string, end byte) {
	for {
		t.blank()
		if t.rest == "" {
			return words, 0
		}
		switch c := t.rest[0]; c {
		case ';', '{', '}':
			t.rest = t.rest[1:]
			return words, c
		case '"':
			text, rest, _ := strings.Cut(t.rest[1:], `"`)
			words, t.rest = append(words, text), rest
		default:
			n := strings.IndexAny(t.rest, " \t\r\n;{}\"")
			if n < 0 {
				n = len(t.rest)
			}
			words, t.rest = append(words, t.rest[:n]), t.rest[n:]
		}
	}
}

// blank drops white space and comments: // and # to the end of the line, /* */.
func (t *tokens) blank() {
	for {
		t.rest = strings.TrimLeft(t.rest, " \t\r\n")
		switch {
		case strings.HasPrefix(t.rest, "//"), strings.HasPrefix(t.rest, "#"):
			_, t.rest, _ = strings.Cut(t.rest, "\n")
		case strings.HasPrefix(t.rest, "/*"):
			_, t.rest, _ = strings.Cut(t.rest[2:], "*/")
		default:
			return
		}
	}
}
