// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
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

// starters start the command in their arguments; readers take one of these, or all of them
// together, for a text of a shell.
var (
	starters = []string{
		"-", "aa-exec", "and", "arch", "builtin", "busybox", "bwrap", "caffeinate", "capsh", "catchsegv", "cgexec", "choom", "chpst", "chroot", "chrt", "command", "cpulimit", "daemonize", "dbus-run-session",
		"doas", "dumb-init", "eatmydata", "entr", "env", "exec", "fakechroot", "fakeroot", "firejail", "flock", "gdb", "gosu", "i386", "ionice", "jobs", "ld.so", "linux32", "linux64", "logsave", "ltrace", "multitime", "newgrp",
		"nice", "nocorrect", "noglob", "nohup", "not", "npx", "nsenter", "numactl", "openvt", "or", "parallel", "perf", "pkexec", "prlimit", "proot", "proxychains", "qemu", "repeat", "rlwrap", "run0", "runcon", "runuser",
		"s6-setuidgid", "sandbox-exec", "screen", "sem", "setarch", "setpriv", "setsid", "setuidgid", "sshpass", "ssh-agent", "start-stop-daemon", "stdbuf", "strace", "su", "su-exec", "sudo", "systemd-inhibit", "systemd-run",
		"taskset", "time", "timeout", "tini", "tmux", "torify", "torsocks", "toybox", "tsocks", "unbuffer", "unshare", "uvx", "valgrind", "watch", "watchexec", "x86_64", "xargs", "xterm", "xvfb-run",
	}
	readers = []string{
		"ash", "bash", "compgen", "complete", "csh", "dash", "env", "eval", "fish", "flock", "hyperfine", "ksh", "mapfile", "mksh", "nix-shell", "parallel", "rbash", "readarray", "runuser", "script", "sem", "sg", "sh", "ssh", "su",
		"tcsh", "tmux", "trap", "watch", "xterm", "yash", "zsh",
	}
)

// A runner starts what stands behind one of these words of its own.
type runner struct {
	behind []string
	next   bool // the very next word begins the command, or is a text for a shell
}

var (
	finds    = runner{[]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, true}
	projects = runner{[]string{"exec", "run", "dlx", "x", "-c", "--command"}, false}
	runners  = map[string]runner{
		"find": finds, "fd": finds, "fdfind": finds, "git": {[]string{"--exec", "foreach", "run"}, true},
		"docker": projects, "podman": projects, "nerdctl": projects, "kubectl": projects, "oc": projects, "ip": projects, "npm": projects, "pnpm": projects, "yarn": projects, "bun": projects,
		"uv": projects, "poetry": projects, "pipenv": projects, "bundle": projects, "conda": projects, "mamba": projects, "direnv": projects, "op": projects, "doppler": projects, "nix": projects,
	}
)

// Builtins that change what a name stands for from then on, or read another text.
var changing = []string{".", "alias", "enable", "hash", "source"}

// Builtins that evaluate the subscript of an array in their arguments, and the substitutions in it.
var evaluating = []string{"[", "declare", "export", "let", "local", "printf", "read", "readonly", "test", "typeset", "unset", "wait"}

// programs are how the names of variables end that programs start.
var programs = []string{"ASKPASS", "BROWSER", "CMD", "COMMAND", "EDITOR", "LESSOPEN", "LESSCLOSE", "PAGER", "SHELL", "VISUAL"}

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
	case c == '{' && braces(l.in[l.at:]), c == '=' && !l.inWord && equals.MatchString(l.in[l.at:]):
		return errExpansion
	case c < ' ' || c == 0x7f || c >= 0x80 && blank(l.in[l.at:]):
		return errControl
	default:
		l.glob = l.glob || c == '*' || c == '?' || c == '[' && !test.MatchString(l.in[l.at:])
		l.put(l.in[l.at : l.at+1])
		l.at++
	}
	return nil
}

// sequence is {a..z}.
var sequence = regexp.MustCompile(`^\{[^\s{},;&|<>()]*\.\.[^\s{},;&|<>()]*\}`)

// braces says whether a brace begins an expansion, such as {rm,-rf}: a comma and a brace follow in the
// word. A brace in between that closes nothing is part of the list: {a}b,c} is a}b and c.
func braces(s string) bool {
	if strings.HasPrefix(s, "{}") {
		return false
	}
	comma := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			i += quotedLength(s[i:])
		case strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return sequence.MatchString(s)
		case c == ',':
			comma = true
		case c == '}' && comma:
			return true
		}
	}
	return sequence.MatchString(s)
}

// quotedLength returns how many bytes follow the quote that s begins with, up to the one that ends it.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return i
		}
	}
	return len(s)
}

// equals is a word that zsh replaces by where the program is: =rm.
var equals = regexp.MustCompile(`^=[\w./]`)

// test is the command "[", which is no pattern.
var test = regexp.MustCompile(`^\[(\s|$)`)

// blank says whether s begins with a character that some take for a blank, such as U+00A0.
func blank(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(c)
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
