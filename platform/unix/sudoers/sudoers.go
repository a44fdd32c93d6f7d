// SPDX-License-Identifier: Apache-2.0

// Package sudoers reads who may run what as whom through sudo without being
// asked for a password (sudoers(5)).
package sudoers

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
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
		u = strings.TrimSpace(u)
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
	number, first := 0, 0
	whole := ""
	for line := range bytes.Lines(raw) {
		if number++; whole == "" {
			first = number
		}
		text := strings.TrimRight(string(line), "\r\n")
		if before, continued := strings.CutSuffix(text, `\`); continued && !opensComment(strings.TrimSpace(whole+before)) {
			if whole += before + " "; len(whole) > maxLine {
				r.skip(ErrTooMany)
				return
			}
			continue
		}
		r.line(name, first, strings.TrimSpace(whole+text), depth)
		whole = ""
	}
	if whole != "" {
		r.line(name, first, strings.TrimSpace(whole), depth)
	}
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
		r.include(file, rest, depth)
	case word == "@includedir" || word == "#includedir":
		r.includeDir(file, rest, depth)
	case text[0] == '#' && !isUID(text):
	case strings.HasPrefix(word, "Defaults"):
		r.defaults(file, number, uncomment(text))
	case word == "Cmnd_Alias" || word == "Cmd_Alias":
		r.alias(uncomment(rest))
	case word == "User_Alias" || word == "Runas_Alias" || word == "Host_Alias":
	default:
		r.rule(file, number, uncomment(text))
	}
}

// opensComment reports whether a comment begins in a line, which the line ends even behind a backslash. In
// doubt it does: two lines that are one hide less than one that is two. Quotes are those of Defaults alone.
func opensComment(text string) bool {
	quotes := strings.HasPrefix(text, "Defaults")
	for i := range len(text) {
		if text[i] == '#' && (i == 0 || text[i-1] != '\\') && !isID(text[i+1:]) && (!quotes || strings.Count(text[:i], `"`)%2 == 0) {
			return true
		}
	}
	return false
}

// isID reports whether what follows a "#" makes it the number of a user or a group.
func isID(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return text != "" && text[0] >= '0' && text[0] <= '9'
}

// isUID tells a rule for a user id, "#1000 ALL=...", from a comment.
func isUID(text string) bool {
	return len(text) > 1 && text[1] >= '0' && text[1] <= '9' && strings.Contains(text, "=")
}

func cutWord(text string) (word, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// uncomment cuts a comment off: a "#" that is neither quoted, escaped, nor the
// beginning of an id.
func uncomment(text string) string {
	for i := 1; i < len(text); i++ {
		digit := i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9'
		if text[i] == '#' && text[i-1] != '\\' && !digit && strings.Count(text[:i], `"`)%2 == 0 {
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}

func (r *reader) include(from, name string, depth int) {
	name = strings.Trim(name, `"`)
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
	dir = strings.Trim(dir, `"`)
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
	word, rest := cutWord(text)
	d := Default{Scope: strings.TrimPrefix(word, "Defaults"), File: file, Line: number}
	for unfinished(d.Scope, rest) {
		word, rest = cutWord(rest)
		d.Scope += word
	}
	for _, option := range split(rest, ',') {
		name, negated := negations(option)
		if negated {
			name = "!" + name
		}
		d.Options = append(d.Options, name)
	}
	r.policy.Defaults = append(r.policy.Defaults, d)
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
	for _, one := range split(text, ':') {
		name, list, ok := strings.Cut(one, "=")
		if name = strings.TrimSpace(name); !ok || !isAlias(name) {
			r.skip(ErrSyntax)
			return
		}
		r.aliases[name] = split(list, ',')
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
	at := find(text, '=')
	if at < 0 {
		r.skip(ErrSyntax)
		return
	}
	g := Grant{Users: strings.Join(strings.Fields(text[:at]), " "), File: file, Line: number}
	if !strings.Contains(g.Users, " ") {
		r.skip(ErrSyntax) // users without hosts
		return
	}
	for _, piece := range split(text[at+1:], ',') {
		r.command(&g, piece)
	}
}

// command reads one of the commands of a rule. The (as whom) and the tags before
// it hold for the commands after it too.
func (r *reader) command(g *Grant, piece string) {
	text := strings.TrimSpace(piece)
	if rest, opened := strings.CutPrefix(text, "("); opened {
		as, after, closed := strings.Cut(rest, ")")
		if !closed {
			r.skip(ErrSyntax)
			return
		}
		if g.RunAs, text = strings.TrimSpace(as), strings.TrimSpace(after); g.RunAs == "" {
			g.RunAs = ":" // () runs as the same user
		}
	}
	text = r.tags(g, text)
	at := find(text, ':')
	if at < 0 {
		r.grant(*g, text)
		return
	}
	r.grant(*g, text[:at])
	r.next(g, text[at+1:])
}

func (r *reader) grant(g Grant, text string) {
	text, negated := negations(text)
	switch {
	case text == "":
		r.skip(ErrSyntax)
	case negated:
	case len(r.policy.Grants) >= maxRules:
		r.skip(ErrTooMany)
	default:
		g.Command = text
		r.policy.Grants = append(r.policy.Grants, g)
	}
}

// next reads another part of a rule, for other hosts. It does not inherit tags.
func (r *reader) next(g *Grant, text string) {
	if at := find(text, '='); at >= 0 {
		*g = Grant{Users: g.Users, File: g.File, Line: g.Line}
		r.command(g, text[at+1:])
		return
	}
	r.skip(ErrSyntax)
}

// tags reads what may be before a command: tags, options and digests.
func (r *reader) tags(g *Grant, text string) string {
	for {
		word, rest, colon := strings.Cut(text, ":")
		word = strings.TrimSpace(word)
		name, value, option := strings.Cut(text, "=")
		switch {
		case colon && strings.HasPrefix(word, "sha") && !strings.ContainsAny(word, " /"):
			_, text = cutWord(strings.TrimSpace(rest))
		case colon && isAlias(word):
			switch word {
			case "NOPASSWD":
				g.NoPassword = true
			case "PASSWD":
				g.NoPassword = false
			}
			text = strings.TrimSpace(rest)
		case option && isAlias(strings.TrimSpace(name)):
			_, text = cutWord(strings.TrimSpace(value))
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

// split cuts text at each separator that is neither escaped, quoted nor within
// parentheses. Unlike a shell, sudo leaves the quotes and backslashes to whoever reads the piece.
func split(text string, separator byte) []string {
	var list []string
	for {
		at := find(text, separator)
		if at < 0 {
			return append(list, text)
		}
		list = append(list, text[:at])
		text = text[at+1:]
	}
}

// find returns the index of the first c that is neither escaped, quoted nor within
// parentheses; -1 for none.
func find(text string, c byte) int {
	quoted, depth := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case quoted:
		case text[i] == '(':
			depth++
		case text[i] == ')' && depth > 0:
			depth--
		case text[i] == c && depth == 0:
			return i
		}
	}
	return -1
}
