// SPDX-License-Identifier: Apache-2.0

// Package aptconf reads the configuration of apt (apt.conf(5)): the value that
// each option has in the end.
package aptconf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a file.
const (
	maxDepth   = 32
	maxOptions = 20_000
)

// The directives, which [Each] gives as options of these names (apt.conf(5)).
const (
	clearDirective   = "#clear"
	IncludeDirective = "#include"
)

// ErrFormat says that a file does not have the form of apt.conf.
var ErrFormat = errors.New("does not have the form of apt.conf")

// Options maps the lower-case name of each option, "apt::periodic::enable", to its
// value. The items of a list, which have no names, are numbered below its name; see [Options.Items].
type Options map[string]string

// Items returns the values below an option, as of a list, by their names and in their order.
func (o Options) Items(name string) []string {
	prefix := strings.ToLower(name) + "::"
	var names []string
	for option, value := range o {
		if item, is := strings.CutPrefix(option, prefix); is && item != counter && value != "" && !strings.Contains(item, "::") {
			names = append(names, option)
		}
	}
	slices.Sort(names)
	items := make([]string, len(names))
	for i, name := range names {
		items[i] = o[name]
	}
	return items
}

// counter is the name below a list of how many items it has had since it was cleared.
const counter = "#"

// add puts an item at the end of a list, "name::".
func (o Options) add(list, value string) {
	list = strings.ToLower(list)
	n, _ := strconv.Atoi(o[list+counter]) //nolint:errcheck // none so far
	o[list+counter] = strconv.Itoa(n + 1)
	o[fmt.Sprintf("%s%s%05d", list, counter, n)] = value
}

// On says whether an option has a value that apt takes for yes, or one such as a number
// other than 0.
func (o Options) On(name string) bool {
	value := o[strings.ToLower(name)]
	yes, known := truth(value)
	return value != "" && (yes || !known)
}

// truth reads a word or number as StringToBool of apt does (apt-pkg/contrib/strutl.cc); known is false for one
// that says neither yes nor no.
func truth(text string) (yes, known bool) {
	if n, err := strconv.ParseInt(text, 0, 32); err == nil && (n == 0 || n == 1) {
		return n == 1, true
	}
	switch strings.ToLower(text) {
	case "yes", "true", "with", "on", "enable":
		return true, true
	case "", "no", "false", "without", "off", "disable":
		return false, true
	}
	return false, false
}

// Each calls use for each option of a file, in its order, with its name as it is written,
// "APT::Periodic::Enable"; the name of an item of a list ends in "::". A directive is an option of the name
// "#include" or "#clear". It ends with the first error of use, and with what does not have the form of apt.conf.
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
		case len(words) > 0 && startsDirective(words[0]) && !isDirective(words):
			return ErrFormat
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
		case startsDirective(t.rest):
			return
		case strings.HasPrefix(t.rest, "//"), strings.HasPrefix(t.rest, "#"):
			_, t.rest, _ = strings.Cut(t.rest, "\n")
		case strings.HasPrefix(t.rest, "/*"):
			_, t.rest, _ = strings.Cut(t.rest[2:], "*/")
		default:
			return
		}
	}
}

// startsDirective says whether a text begins with what apt does not take for a comment
// (ReadConfigFile in apt-pkg/contrib/configuration.cc).
func startsDirective(text string) bool {
	return strings.HasPrefix(text, clearDirective) || strings.HasPrefix(text, IncludeDirective)
}

func isDirective(words []string) bool {
	return len(words) == 2 && (words[0] == clearDirective || words[0] == IncludeDirective)
}
