// SPDX-License-Identifier: Apache-2.0

// Package sudoers reads who may run what as whom through sudo without being
// asked for a password (sudoers(5)).
package sudoers

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Bounds of one policy.
const (
	maxDepth = 16
	maxFiles = 256
	maxRules = 10_000
	maxLine  = 64 << 10
	maxAlias = 16      // aliases within aliases
	maxSteps = 100_000 // names looked up, for aliases that name each other
)

// Why part of a policy was not read.
var (
	ErrTooMany = errors.New("the policy has more files or rules than expected")
	ErrSyntax  = errors.New("the policy has a line that sudo would refuse")
	ErrHost    = errors.New("the policy includes a file by the name of this host, which is not followed")
)

// A Grant is one command that a rule gives.
type Grant struct {
	Users      string // who, as written, with the hosts
	RunAs      string // as whom, as written; "" means root
	Command    string // "ALL", or a command line; aliases are resolved
	NoPassword bool
	File       string
	Line       int
}

// AsRoot says whether the command runs as root.
func (g Grant) AsRoot() bool {
	users, _, _ := strings.Cut(g.RunAs, ":")
	if strings.TrimSpace(users) == "" {
		return g.RunAs == "" // (:group) runs as the same user
	}
	return slices.ContainsFunc(strings.Split(users, ","), func(u string) bool {
		u = strings.Trim(strings.TrimSpace(u), `"`)
		return u == "root" || u == "ALL" || u == "#0" || u == "%root" || isAlias(u)
	})
}

// A Default is one Defaults line.
type Default struct {
	Scope   string // "", or what follows the word: ":mira", "@host", "!cmnd", ">root"
	Options []string
	File    string
	Line    int
}

// A Policy is what was read.
type Policy struct {
	Grants   []Grant // in their order; commands that a rule takes back ("!") are left out
	Defaults []Default
	Files    []string // that were read
	// Hole is why a part could not be read, nil when all was read.
	Hole error
}

// A Tree is the files to read from, by absolute name.
type Tree interface {
	// Read returns a whole file.
	Read(name string) ([]byte, error)
	// Names returns the names in a directory, sorted; none where there is no directory.
	Names(dir string) ([]string, error)
}

// Read reads the policy whose first file is at name. The error says that this file
// could not be read; a problem after that is a Hole.
func Read(tree Tree, name string) (Policy, error) {
	raw, err := tree.Read(name)
	if err != nil {
		return Policy{}, err
	}
	r := reader{tree: tree, aliases: map[string][]string{}}
	r.file(name, raw, 0)
	r.resolve()
	return r.policy, nil
}

type reader struct {
	tree    Tree
	policy  Policy
	aliases map[string][]string // Cmnd_Alias
	rules   int
	steps   int
}

// skip notes why a part was not read.
func (r *reader) skip(err error) {
	if r.policy.Hole == nil {
		r.policy.Hole = err
	}
}

func (r *reader) file(name string, raw []byte, depth int) {
	r.policy.Files = append(r.policy.Files, name)
	number := 1
	for rest := string(raw); rest != ""; {
		text, size, lines := statement(rest)
		r.line(name, number, strings.TrimSpace(text), depth)
		rest = rest[size:]
		number += lines
	}
}

// statement returns the first line of text, joined with those that a backslash at its end
// continues it with, without its comment, and how much of text that was. A comment ends with its
// line, whatever stands at its end.
func statement(text string) (joined string, size, lines int) {
	if line, _, _ := strings.Cut(text, "\n"); isInclude(line) {
		return line, min(len(line)+1, len(text)), 1
	}
	var b strings.Builder
	quotes, quoted := true, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return b.String(), i + 1, lines + 1
		case c == '\\' && newline(text[i+1:]) > 0:
			i += newline(text[i+1:])
			lines++
			c = ' '
		case escapes(text[i:], quoted):
			b.WriteByte(c)
			i++
			c = text[i]
		case c == '"' && quotes:
			quoted = !quoted
		case quoted:
		case c == '=':
			quotes = quotes && quotesValues(b.String())
		case c == '#' && !isID(text[i:]):
			size = len(text)
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				size = i + end + 1
			}
			return b.String(), size, lines + 1
		}
		b.WriteByte(c)
	}
	return b.String(), len(text), lines + 1
}

// isInclude says whether a line includes others. Neither does a backslash join such a
// line to the next, nor begins a comment in the middle of the name.
func isInclude(line string) bool {
	word, _ := cutWord(line)
	if word == "" {
		word, _ = cutWord(strings.TrimSpace(line))
		return word == "@include" || word == "@includedir" // "#include" counts only where the line begins
	}
	return slices.Contains([]string{"@include", "@includedir", "#include", "#includedir"}, word)
}

// newline returns the length of the line break that text begins with, 0 for none.
func newline(text string) int {
	switch {
	case strings.HasPrefix(text, "\n"):
		return 1
	case strings.HasPrefix(text, "\r\n"):
		return 2
	default:
		return 0
	}
}

// escapes says whether text begins with a backslash that takes the next character's
// meaning away. Within quotes only a quote can lose it.
func escapes(text string, quoted bool) bool {
	return len(text) > 1 && text[0] == '\\' && (!quoted || text[1] == '"')
}

// quotesValues says whether the line that begins so has quotes behind its "=" too:
// in the arguments of a command they are characters like others.
func quotesValues(line string) bool {
	word, _ := cutWord(strings.TrimSpace(line))
	return isDefaults(word) || isOtherAlias(word)
}

func isDefaults(word string) bool {
	scope, ok := strings.CutPrefix(word, "Defaults")
	return ok && (scope == "" || strings.ContainsRune(":@!>", rune(scope[0])))
}

// isOtherAlias says whether the word introduces aliases of anything but commands.
func isOtherAlias(word string) bool {
	return word == "User_Alias" || word == "Runas_Alias" || word == "Host_Alias"
}

// isID tells the id of a user or group, "#1000" or "#-1", from a comment.
func isID(text string) bool {
	digits := strings.TrimPrefix(text[1:], "-")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9'
}

func (r *reader) line(file string, number int, text string, depth int) {
	if r.rules++; r.rules > maxRules || len(text) > maxLine {
		r.skip(ErrTooMany)
		return
	}
	word, rest := cutWord(text)
	switch {
	case text == "":
	case word == "@include" || word == "#include":
		r.include(file, r.includeName(rest), depth)
	case word == "@includedir" || word == "#includedir":
		r.includeDir(file, r.includeName(rest), depth)
	case isDefaults(word):
		r.defaults(file, number, text)
	case word == "Cmnd_Alias" || word == "Cmd_Alias":
		r.alias(rest)
	case isOtherAlias(word):
	default:
		r.rule(file, number, text)
	}
}

func cutWord(text string) (word, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// includeName returns the name in what stands behind "@include". There may be
// a comment after it.
func (r *reader) includeName(text string) string {
	name, after := cutWord(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		name, after, _ = strings.Cut(quoted, `"`)
		after = strings.TrimSpace(after)
	}
	if strings.Contains(name, `\`) || after != "" && after[0] != '#' {
		r.skip(ErrSyntax)
	}
	return name
}

func (r *reader) include(from, name string, depth int) {
	switch {
	case strings.Contains(name, "%h"):
		r.skip(ErrHost)
		return
	case name == "" || depth+1 >= maxDepth || len(r.policy.Files) >= maxFiles:
		r.skip(ErrTooMany)
		return
	case !path.IsAbs(name):
		name = path.Join(path.Dir(from), name)
	}
	raw, err := r.tree.Read(name)
	if err != nil {
		r.skip(fmt.Errorf("read %s: %w", name, err))
		return
	}
	r.file(name, raw, depth+1)
}

// includeDir reads the files of a directory in the order of their names. sudo passes
// over names with a dot in them or a tilde at their end.
func (r *reader) includeDir(from, dir string, depth int) {
	if strings.Contains(dir, "%h") {
		r.skip(ErrHost)
		return
	}
	if !path.IsAbs(dir) {
		dir = path.Join(path.Dir(from), dir)
	}
	names, err := r.tree.Names(dir)
	if err != nil {
		r.skip(fmt.Errorf("read %s: %w", dir, err))
		return
	}
	for _, name := range names {
		if !strings.Contains(name, ".") && !strings.HasSuffix(name, "~") {
			r.include(from, path.Join(dir, name), depth)
		}
	}
}

func (r *reader) defaults(file string, number int, text string) {
	word, rest := cutQuoted(text)
	d := Default{Scope: strings.TrimPrefix(word, "Defaults"), File: file, Line: number}
	for unfinished(d.Scope, rest) {
		word, rest = cutQuoted(rest)
		d.Scope += word
	}
	for _, option := range split(rest, ',', true) {
		name, negated := negations(option)
		if negated {
			name = "!" + name
		}
		d.Options = append(d.Options, name)
	}
	r.policy.Defaults = append(r.policy.Defaults, d)
}

// cutQuoted is [cutWord] for words that may have quoted or escaped blanks.
func cutQuoted(text string) (word, rest string) {
	at := find(text, " \t", true)
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// unfinished says whether the list of those whom defaults are for goes on: there
// may be blanks around its commas.
func unfinished(scope, rest string) bool {
	return scope != "" && rest != "" && (len(scope) == 1 || strings.HasSuffix(scope, ",") || strings.HasPrefix(rest, ","))
}

// negations returns text without the "!" before it, and whether they negate it: two
// cancel each other.
func negations(text string) (string, bool) {
	odd := false
	for text = strings.TrimSpace(text); strings.HasPrefix(text, "!"); text = strings.TrimSpace(text[1:]) {
		odd = !odd
	}
	return text, odd
}

// alias reads "NAME = a, b : NAME = c".
func (r *reader) alias(text string) {
	for _, one := range split(text, ':', false) {
		name, list, ok := strings.Cut(one, "=")
		if name = strings.TrimSpace(name); !ok || !isAlias(name) {
			r.skip(ErrSyntax)
			return
		}
		r.aliases[name] = split(list, ',', false)
	}
}

// isAlias says whether a name has the form of an alias. ALL has it too, but is
// none.
func isAlias(name string) bool {
	return name != "" && name != "ALL" && name[0] >= 'A' && name[0] <= 'Z' &&
		!strings.ContainsFunc(name, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' })
}

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

// resolve replaces the names of aliases by their commands.
func (r *reader) resolve() {
	var list []Grant
	for _, g := range r.policy.Grants {
		for _, command := range r.expand(g.Command, maxAlias) {
			g.Command = command
			list = append(list, g)
		}
	}
	if len(list) > maxRules {
		r.skip(ErrTooMany)
		list = list[:maxRules]
	}
	r.policy.Grants = list
}

func (r *reader) expand(command string, depth int) []string {
	members, known := r.aliases[command]
	if !known {
		return []string{strings.Join(strings.Fields(command), " ")}
	}
	var list []string
	for _, m := range members {
		if r.steps++; depth == 0 || r.steps > maxSteps {
			r.skip(ErrTooMany)
			return list
		}
		if m, negated := negations(m); m != "" && !negated {
			list = append(list, r.expand(m, depth-1)...)
		}
	}
	return list
}

// split cuts text at each separator that [find] finds. Unlike a shell, sudo leaves the quotes and
// backslashes to whoever reads the piece.
func split(text string, separator byte, quotes bool) []string {
	var list []string
	for {
		at := find(text, string(separator), quotes)
		if at < 0 {
			return append(list, text)
		}
		list = append(list, text[:at])
		text = text[at+1:]
	}
}

// find returns the index of the first of the separators that is not escaped and, where text may have
// quotes, not quoted; -1 for none.
func find(text, separators string, quotes bool) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case escapes(text[i:], quoted):
			i++
		case c == '"' && quotes:
			quoted = !quoted
		case !quoted && strings.IndexByte(separators, c) >= 0:
			return i
		}
	}
	return -1
}
