// SPDX-License-Identifier: Apache-2.0

// Package sudoers reads who may run what as whom through sudo without being
// asked for a password (sudoers(5)).
package sudoers

import (
	"errors"
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
		u = strings.Trim(strings.TrimSpace(u), `"`)
		return u == "root" || u == "ALL" || u == "#0" || u == "%root" || isAlias(u)
	})
}

// A Default is one Defaults line.
type Default struct {
	Scope    string   // "", or what follows the word: ":mira", "@host", "!cmnd", ">root"
	Commands []string // that a scope of commands names; aliases are resolved
	Options  []string
	File     string
	Line     int
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

// unfinished says whether the list of those whom defaults are for goes on: there
// may be blanks around its commas.
func unfinished(scope, rest string) bool {
	return scope != "" && rest != "" && (len(scope) == 1 || strings.HasSuffix(scope, ",") || strings.HasPrefix(rest, ","))
}
