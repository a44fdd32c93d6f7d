// SPDX-License-Identifier: Apache-2.0

// Package shellscript finds which programs a shell script or a command line starts, and nothing
// else of it: arguments may hold secrets.
//
// It is no shell. What a script makes up as it runs, by variables too, and what code of other
// languages runs is not found.
package shellscript

import (
	"path"
	"slices"
	"strings"
	"sync"

	"sentinel/internal/lazyregexp"
)

// Bounds of what is found.
const (
	maxPrograms = 20
	maxName     = 4096
	maxDepth    = 10 // of command lines within command lines
)

// A frame is where a command runs.
type frame struct {
	dir    string  // "" if it is unknown
	in     *simple // what the command reads
	depth  int
	reader *Reader
}

func (f frame) programs(script string) []string {
	var list []string
	for _, c := range f.reader.commands(script, f.dir) {
		if c.from == nil {
			c.from = f.in // what nobody writes to reads what the whole reads
		}
		for _, name := range (frame{c.dir, c, f.depth, f.reader}).command(c.words) {
			list = f.reader.withName(list, name)
		}
	}
	return list
}

// withName adds a name. In a full list it has the place of the last one of a system directory, unless
// it is of one too: what is of interest cannot be hidden behind what is not. What has no place is said to be
// left out.
func (r *Reader) withName(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	if len(list) == maxPrograms {
		last := maxPrograms - 1
		for last >= 0 && !isUsual(list[last]) {
			last--
		}
		if last < 0 || isUsual(name) {
			r.cut = r.cut || !isUsual(name)
			return list
		}
		list = slices.Delete(list, last, last+1)
	}
	return append(list, name)
}

func isUsual(name string) bool {
	return isBare(name) || slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/"}, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// within returns the programs of a command line within another.
func (f frame) within(script string) []string {
	if f.depth == maxDepth {
		f.reader.cut = f.reader.cut || script != ""
		return nil
	}
	f.depth++
	return f.programs(f.reader.part(script))
}

// Once returns the names in list, each once, in their order.
func Once(list []string) []string {
	var once []string
	seen := map[string]bool{}
	for _, name := range list {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*(?:%%|\[[^]]*\])?\+?=`)

// ignored are words of a shell that start nothing.
var ignored = words(`if then else elif fi for while until do done case esac in function select ! { } [[ ]] [ ] ( )
	: . and autoload begin bg bind bindkey break cd chdir compdef complete compinit continue dirs echo emulate enable end exit false fg getopts hash
	history jobs let logout not or popd printf pushd pwd read return set setopt shift shopt suspend switch test times true type
	ulimit umask unalias unset unsetopt wait whence zmodload zstyle`)

// assigners take assignments, and names of variables.
var assigners = words(`declare export local readonly typeset`)

// keywords may stand before a command. The last four are those of fish.
var keywords = words(`if then else elif while until do ! { and begin not or`)

// words says which are in a list. It is split when it is needed: few runs read a script.
func words(list string) (has func(string) bool) {
	set := sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
		return set
	})
	return func(word string) bool { return set()[word] }
}

func (f frame) command(list []string) []string {
	var found []string
	for len(list) > 0 && (keywords(list[0]) || assignment.Get().MatchString(list[0])) {
		found = append(found, f.loaded(list[0])...)
		list = list[1:]
	}
	if len(list) == 0 {
		return found
	}
	name, rest := list[0], list[1:]
	r := runnerOf(path.Base(name))
	switch {
	case name == "": // which has a base
		return found
	case assigners(name):
		for _, word := range rest {
			found = append(found, f.loaded(word)...)
		}
		return found
	case name == "alias":
		return append(found, f.aliases(rest)...)
	case name == "function" && len(rest) > 0: // its name
		return append(found, f.command(rest[1:])...)
	case len(rest) > 1 && rest[1] == "do" && (name == "for" || name == "select"):
		return append(found, f.command(rest[2:])...)
	case name == "coproc":
		if len(rest) > 1 && rest[1] == "{" { // its name
			rest = rest[1:]
		}
		return append(found, f.command(rest)...)
	case r != nil:
		if strings.Contains(name, "/") || r.named && !ignored(name) {
			found = append(found, f.program(name)...)
		}
		return append(found, f.run(r, rest)...)
	case ignored(name):
		return found
	default:
		return append(found, f.program(name)...)
	}
}

// byPath stands before a program that is looked for in directories that the script, or what it runs in, names: no
// system's program is shown for it.
const byPath = "$PATH/"

// isBare reports whether a name is without a directory in what was read.
func isBare(name string) bool { return !strings.Contains(strings.TrimPrefix(name, byPath), "/") }

// program is named for what is run.
func (f frame) program(word string) []string {
	list := f.named(word)
	if len(list) == 1 && f.reader.pathChanged && isBare(list[0]) {
		list[0] = byPath + list[0]
	}
	return list
}

// aliases are the programs of aliases that have a directory. The others are mostly what the alias
// is called.
func (f frame) aliases(list []string) []string {
	var found []string
	for _, word := range list {
		_, text, _ := strings.Cut(word, "=")
		found = append(found, f.within(text)...)
	}
	return slices.DeleteFunc(found, isBare)
}

// named returns a word that can be shown as the name of a program, with the directory it is in.
func (f frame) named(word string) []string {
	if !isName(word) {
		return nil
	}
	if file := f.reader.join(f.dir, word); file != "" && strings.Contains(word, "/") {
		return []string{file}
	}
	return []string{word}
}

// file returns the name of a file that is read or loaded. One without a directory may be anything.
func (f frame) file(word string) []string {
	if f.dir == "" && !strings.Contains(word, "/") {
		return nil
	}
	if f.dir != "" && !strings.Contains(word, "/") {
		word = "./" + word
	}
	return f.named(word)
}

var nameForm = lazyregexp.New(`^(?:~|\$HOME|\$\{HOME\})?[\w./+@:,%-]+$`)

// isName reports whether a word can be shown as the name of a program. A path may have any characters
// but a newline: several lines are rather a script that was misread.
func isName(word string) bool {
	if len(word) > maxName || strings.HasPrefix(word, "-") {
		return false
	}
	letter := func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }
	if strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || strings.Contains(word, "/") && rooted(word) {
		return !strings.ContainsAny(word, "\n\x00") && strings.Trim(word, "./") != ""
	}
	return nameForm.Get().MatchString(word) && strings.ContainsFunc(word, letter)
}
