// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"path"
	"slices"
	"strings"
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

// Begins says whether the first words of the command are those of beginning.
func (c Command) Begins(beginning Command) bool {
	return len(c) >= len(beginning) && slices.Equal(c[:len(beginning)], beginning)
}

var errExpansion = errors.New("the shell puts something into it that cannot be seen here")

// starters start the command in their arguments; readers take one of these, or all of them
// together, for a text of a shell.
var (
	starters = []string{
		"builtin", "busybox", "chroot", "chrt", "command", "doas", "env", "exec", "fd", "find", "flock", "ionice", "nice", "nohup", "nsenter", "parallel", "pkexec",
		"runuser", "setpriv", "setsid", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout", "torsocks", "toybox", "unshare", "watch", "xargs",
	}
	readers = []string{
		"ash", "bash", "csh", "dash", "env", "eval", "fish", "flock", "ksh", "parallel", "runuser", "script", "sh", "ssh", "su", "tcsh", "trap", "watch", "zsh",
	}
)

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
			if n := len(words); n > 0 && t.joined && strings.Trim(words[n-1], "0123456789") == "" {
				words, globs = words[:n-1], globs[:n-1] // the number of a descriptor
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

// Words that a command may stand behind, and those that begin what is not read here.
var (
	opening    = []string{"!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done"}
	unreadable = []string{"for", "case", "select", "function", "coproc", "[[", "alias", "source", "."}
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

// wrapped keeps what a wrapper may start: the command may begin at each of its words, and a
// reader's words may be texts for a shell. So no option of a wrapper need be known.
func (r *shellReader) wrapped(name string, words Command, globs bool, depth int) error {
	starts, reads := slices.Contains(starters, name), slices.Contains(readers, name)
	switch {
	case !starts && !reads:
		return nil
	case globs:
		return errExpansion
	case depth > maxNested:
		return errors.New("it has wrappers in wrappers")
	}
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

// A shellToken is a word or an operator.
type shellToken struct {
	text     string
	operator bool
	quoted   bool // some of the word was quoted
	glob     bool // it holds a pattern of names that was not quoted
	joined   bool // nothing stands between this operator and the word before
}

// shellTokens cuts text into words and operators (POSIX.1-2024, Shell Command Language, 2.3).
func shellTokens(text string) ([]shellToken, error) {
	l := shellLexer{in: text}
	for l.at < len(text) {
		if err := l.step(text[l.at]); err != nil {
			return nil, err
		}
	}
	l.end()
	return l.tokens, nil
}

type shellLexer struct {
	in     string
	at     int
	word   strings.Builder
	inWord bool
	quoted bool
	glob   bool
	tokens []shellToken
}

func (l *shellLexer) end() {
	if l.inWord {
		l.tokens = append(l.tokens, shellToken{text: l.word.String(), quoted: l.quoted, glob: l.glob})
	}
	l.word.Reset()
	l.inWord, l.quoted, l.glob = false, false, false
}

func (l *shellLexer) put(s string) {
	l.word.WriteString(s)
	l.inWord = true
}

func (l *shellLexer) step(c byte) error {
	switch {
	case c == ' ' || c == '\t':
		l.end()
		l.at++
	case c == '\n' || strings.IndexByte(";&|()<>", c) >= 0:
		return l.operator()
	case c == '\'':
		return l.single()
	case c == '"':
		return l.double()
	case c == '\\':
		return l.backslash()
	case c == '#' && !l.inWord:
		for l.at < len(l.in) && l.in[l.at] != '\n' {
			l.at++
		}
	case c == '$' || c == '`':
		return errExpansion
	case c == '{' && braces(l.in[l.at:]):
		return errExpansion
	case c < ' ' || c == 0x7f:
		return errControl
	default:
		l.glob = l.glob || strings.IndexByte("*?[", c) >= 0
		l.put(l.in[l.at : l.at+1])
		l.at++
	}
	return nil
}

// braces says whether a brace begins an expansion, such as {rm,-rf}.
func braces(s string) bool {
	inner, _, closed := strings.Cut(s[1:], "}")
	return closed && (strings.Contains(inner, ",") || strings.Contains(inner, ".."))
}

func (l *shellLexer) operator() error {
	joined := l.inWord && !l.quoted
	l.end()
	rest := l.in[l.at:]
	for _, op := range []string{"<<", "<(", ">("} {
		if strings.HasPrefix(rest, op) {
			return errExpansion
		}
	}
	for _, op := range []string{"&>>", "&>", ">>", ">|", ">&", "<&", "<>", "&&", "||", "|&", ";;"} {
		if strings.HasPrefix(rest, op) {
			return l.emit(op, joined)
		}
	}
	return l.emit(rest[:1], joined)
}

func (l *shellLexer) emit(op string, joined bool) error {
	l.tokens = append(l.tokens, shellToken{text: op, operator: true, joined: joined})
	l.at += len(op)
	return nil
}

var errQuote = errors.New("a quote in it has no end")

func (l *shellLexer) single() error {
	inner, _, closed := strings.Cut(l.in[l.at+1:], "'")
	if !closed {
		return errQuote
	}
	if strings.ContainsRune(inner, 0) {
		return errZero
	}
	l.put(inner)
	l.quoted = true
	l.at += len(inner) + 2
	return nil
}

func (l *shellLexer) double() error {
	l.put("")
	l.quoted = true
	for l.at++; l.at < len(l.in); l.at++ {
		switch c := l.in[l.at]; {
		case c == '"':
			l.at++
			return nil
		case c == '$' || c == '`':
			return errExpansion
		case c == 0:
			return errZero
		case c == '\\' && l.at+1 < len(l.in) && strings.IndexByte("$`\"\\\n", l.in[l.at+1]) >= 0:
			l.at++
			if l.in[l.at] != '\n' {
				l.put(l.in[l.at : l.at+1])
			}
		default:
			l.put(l.in[l.at : l.at+1])
		}
	}
	return errQuote
}

func (l *shellLexer) backslash() error {
	if l.at+1 == len(l.in) {
		return errors.New("it ends with a backslash")
	}
	switch c := l.in[l.at+1]; {
	case c == '\n': // a line goes on
	case c < ' ':
		return errControl
	default:
		l.put(l.in[l.at+1 : l.at+2])
		l.quoted = true
	}
	l.at += 2
	return nil
}
