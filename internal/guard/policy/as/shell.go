// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds of one text of a shell.
const (
	maxCommands = 512
	maxNested   = 6        // a shell in a wrapper in a shell …
	maxShell    = 64 << 10 // bytes
)

// A Command is one reading of a command that a shell would start: its words, quotes taken
// away.
type Command []string

// String returns the words with one blank between them.
func (c Command) String() string { return strings.Join(c, " ") }

// Begins says whether the first words of the command are those of beginning; fold takes upper and
// lower case for one. The name of the program is one in either case where its volume says so.
func (c Command) Begins(beginning Command, fold bool) bool {
	if len(c) < len(beginning) {
		return false
	}
	for i, want := range beginning {
		if c[i] != want && (Fold(c[i]) != Fold(want) || !fold && (i > 0 || !programsFold())) {
			return false
		}
	}
	return true
}

// programsFold says whether /bin/RM is /bin/rm.
var programsFold = sync.OnceValue(func() bool { return foldsCase("/usr/bin") })

var errExpansion = errors.New("the shell puts something into it that cannot be seen here")

// Shell returns the commands that text starts, each in all the ways it may be meant: with the
// variables that are set for it and without, with its path and without, and what wrappers such as
// sudo, env, xargs or sh -c start in their turn. A redirection is a command of its own that begins
// with its operator. Expansions, substitutions, here-documents, loops and functions are
// an error: what they start is known to the shell alone.
func Shell(text string) ([]Command, error) {
	if len(text) > maxShell {
		return nil, errors.New("it is longer than any command")
	}
	r := shellReader{}
	if err := r.script(text, 0); err != nil {
		return nil, err
	}
	return r.commands, nil
}

// ParseBeginning reads the first words of commands, such as "git push".
func ParseBeginning(text string) (Command, error) {
	tokens, err := shellTokens(text)
	if err != nil {
		return nil, err
	}
	var c Command
	for _, t := range tokens {
		if t.operator {
			return nil, errors.New("it must be the words of one command")
		}
		c = append(c, t.text)
	}
	if len(c) == 0 {
		return nil, errors.New("it is empty")
	}
	return c, nil
}

type shellReader struct {
	commands []Command
}

// script reads the commands of a text.
func (r *shellReader) script(text string, depth int) error {
	if depth > maxNested {
		return errors.New("it has shells in shells")
	}
	tokens, err := shellTokens(text)
	if err != nil {
		return err
	}
	var words Command
	var globs []bool
	for len(tokens) > 0 {
		t := tokens[0]
		tokens = tokens[1:]
		switch {
		case !t.operator && len(words) == 0 && !t.quoted && slices.Contains(opening, t.text):
		case !t.operator && len(words) == 0 && !t.quoted && slices.Contains(unreadable, t.text):
			return errors.New("it has a loop or a function")
		case !t.operator:
			words, globs = append(words, t.text), append(globs, t.glob)
		case strings.ContainsAny(t.text, "<>"):
			if len(tokens) == 0 || tokens[0].operator {
				return errors.New("it redirects to nothing")
			}
			if n := len(words); n > 0 && t.joined && descriptor.MatchString(words[n-1]) {
				words, globs = words[:n-1], globs[:n-1]
			}
			if err := r.keep(Command{t.text, tokens[0].text}); err != nil {
				return err
			}
			tokens = tokens[1:]
		case t.text == "(" && len(words) > 0:
			return errors.New("it has a function")
		default:
			if err := r.command(words, globs, depth); err != nil {
				return err
			}
			words, globs = nil, nil
		}
	}
	return r.command(words, globs, depth)
}

// descriptor is what may stand right before the operator of a redirection: its number, or {name} of
// the variable that is set to it.
var descriptor = regexp.MustCompile(`^(\d+|\{\w+\})$`)

// Words that a command may stand behind, and those that begin what is not read here.
var (
	opening    = []string{"!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done"}
	unreadable = []string{"for", "case", "select", "function", "coproc", "[["}
)

func (r *shellReader) keep(c Command) error {
	if len(r.commands) == maxCommands {
		return errors.New("it has too many commands")
	}
	r.commands = append(r.commands, c)
	return nil
}

// command keeps the readings of one command. globs says which of its words the shell replaces by
// names of files.
func (r *shellReader) command(words Command, globs []bool, depth int) error {
	if len(words) == 0 {
		return nil
	}
	if err := r.keep(words); err != nil {
		return err
	}
	plain := words
	for len(plain) > 0 && isAssignment(plain[0]) {
		if err := r.assignment(plain[0], depth+1); err != nil {
			return err
		}
		plain = plain[1:]
	}
	if len(plain) == 0 {
		return nil
	}
	if len(globs) > 0 && globs[len(words)-len(plain)] {
		return errExpansion
	}
	name := path.Base(plain[0])
	if len(plain) < len(words) {
		if err := r.keep(plain); err != nil {
			return err
		}
	}
	if name != plain[0] {
		if err := r.keep(append(Command{name}, plain[1:]...)); err != nil {
			return err
		}
	}
	return r.wrapped(strings.ToLower(name), plain[1:], slices.Contains(globs, true), depth+1)
}

// assignment reads the value of a variable that names a program, such as GIT_PAGER.
func (r *shellReader) assignment(word string, depth int) error {
	name, value, _ := strings.Cut(word, "=")
	name = strings.ToUpper(name) // ProxyCommand of ssh
	if !slices.ContainsFunc(programs, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return nil
	}
	return r.script(value, depth)
}

// wrapped keeps what a wrapper may start.
func (r *shellReader) wrapped(name string, words Command, globs bool, depth int) error {
	starts, reads := isOne(starters, name) || strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl"), isOne(readers, name)
	substitutes := func(word string) bool { return strings.ContainsAny(word, "$`") }
	switch one, runs := runners[name]; {
	case slices.Contains(changing, name):
		return errors.New("it changes what other commands are")
	case slices.Contains(evaluating, name) && slices.ContainsFunc(words, substitutes):
		return errExpansion
	case depth > maxNested:
		return errors.New("it has wrappers in wrappers")
	case runs:
		return r.run(one, words, globs, depth)
	case !starts && !reads:
		return nil
	case globs:
		return errExpansion
	}
	return r.any(words, starts, reads, depth)
}

// isOne says whether a program is one of list, of whatever version: bash5, ksh93.
func isOne(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, strings.TrimRight(name, "0123456789.-"))
}

// any keeps what a wrapper starts of which no option is known: the command may begin at each of its
// words, and a reader's words may be texts for a shell.
func (r *shellReader) any(words Command, starts, reads bool, depth int) error {
	for i, word := range words {
		if starts && !strings.HasPrefix(word, "-") && !isAssignment(word) {
			if err := r.command(words[i:], nil, depth); err != nil {
				return err
			}
		}
		if !reads {
			continue
		}
		for _, text := range texts(word) {
			if err := r.script(text, depth); err != nil {
				return err
			}
		}
	}
	if reads && len(words) > 1 { // eval, ssh and watch join their words
		return r.script(words.String(), depth)
	}
	return nil
}

// run keeps what stands behind the words of a runner.
func (r *shellReader) run(one runner, words Command, globs bool, depth int) error {
	for i, word := range words {
		option, value, _ := strings.Cut(word, "=")
		if !slices.Contains(one.behind, option) {
			continue
		}
		rest := words[i+1:]
		if value != "" {
			rest = Command{value}
		}
		switch {
		case globs:
			return errExpansion
		case !one.next:
			return r.any(rest, true, slices.ContainsFunc(rest, func(w string) bool { return strings.ContainsAny(w, " \t\n;") }), depth)
		case len(rest) > 0 && strings.ContainsAny(rest[0], " \t\n;"):
			if err := r.script(rest[0], depth); err != nil {
				return err
			}
		default:
			if err := r.command(rest, nil, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// texts returns what of a word may be a text for a shell: TEXT, --option=TEXT, -oTEXT.
func texts(word string) []string {
	if !strings.HasPrefix(word, "-") {
		return []string{word}
	}
	if _, value, ok := strings.Cut(word, "="); ok {
		return []string{value}
	}
	if len(word) > 2 && word[1] != '-' {
		return []string{word[2:]}
	}
	return nil
}

// isAssignment says whether a word sets a variable for the command that follows.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	name = strings.TrimSuffix(name, "+")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
